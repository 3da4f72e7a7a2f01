"""What every test may use."""

import os

from hypothesis import settings

pytest_plugins = ["tests.virtual_time"]

os.environ.setdefault("STROMBOLI_CHECK_CACHE", "1")  # whoever changes a cached object fails its test

settings.register_profile("patient", deadline=None)  # a machine under load is slow, not wrong
settings.load_profile("patient")
