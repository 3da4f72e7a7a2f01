"""The metrics of admission: what was answered under which path, how long it took, and the state of certificates."""

from __future__ import annotations

from runtime.metrics import counter, exponential, gauge, histogram

REQUESTS = counter(
    "volcano_admission_requests_total",
    "Admission requests by path and verdict: allowed, patched, denied, malformed, failed, timeout; "
    "not_found for paths without a handler.",
    ["path", "verdict"],
)
DURATION = histogram(
    "volcano_admission_request_duration_seconds",
    "Time from the last byte of an admission request to its answer.",
    ["path"],
    buckets=exponential(0.0001, 4, 9),
)
CERTIFICATE_EXPIRY = gauge(
    "volcano_admission_certificate_expiry_timestamp_seconds",
    "Unix time at which the certificate in use expires; of a CA bundle, its first to do so.",
    ["use"],
)
CERTIFICATE_REFUSALS = counter(
    "volcano_admission_certificate_refusals_total",
    "Replacement certificates, or certificate secrets, that could not be used.",
)
CA_BUNDLE_WRITES = counter(
    "volcano_admission_ca_bundle_writes_total",
    "Webhook configurations into which the CA bundle was written, by result: written, failed.",
    ["configuration", "result"],
)
CA_BUNDLE_IN_PLACE = gauge(
    "volcano_admission_ca_bundle_in_place",
    "1 while the webhook configuration carries the CA bundle, else 0.",
    ["configuration"],
)
