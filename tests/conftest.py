"""What every test may use."""

import os
import signal
import threading

from hypothesis import settings

pytest_plugins = ["tests.virtual_time"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # A shell starts its background jobs with Ctrl-C ignored, and processes started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("STROMBOLI_CHECK_CACHE", "1")  # whoever changes a cached object fails its test

settings.register_profile("patient", deadline=None)  # a machine under load is slow, not wrong
settings.load_profile("patient")
