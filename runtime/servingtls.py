"""
The TLS side of a server: which certificate new connections get, and its exchange while the server runs.

A context is built anew for each pair and swapped as a whole, so no handshake ever sees a certificate without its
key. A pair that doesn't fit, such as one whose second file isn't written yet, leaves the old one in place.
"""

from __future__ import annotations

import logging
import ssl
from datetime import datetime

from runtime import admission_metrics as metrics
from runtime.certs import CertificateError, check_match, expiry
from runtime.errors import ConfigError
from runtime.tls import KeyPair, Pem

logger = logging.getLogger(__name__)

CIPHERS = "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384"
"""The suites of TLS 1.2; those of 1.3 are all allowed."""


class ServingTls:
    """
    The certificate that is served, and who may connect.

    With `client_ca` (PEM) a client certificate is verified when one is presented; `require_client_cert` refuses
    clients without. Raises CertificateError when it is required and there is no CA to verify it by.
    """

    def __init__(self, *, client_ca: bytes = b"", require_client_cert: bool = False) -> None:
        if require_client_cert and not client_ca:
            raise CertificateError("client certificates are required, but no client CA is given to verify them by")
        self._client_ca = client_ca
        self._is_client_cert_required = require_client_cert
        self._context: ssl.SSLContext | None = None
        self._served: tuple[bytes, bytes, bytes] | None = None
        self.expiry: datetime | None = None
        """When the certificate served now expires."""

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate to serve."""
        return self._context is not None

    def context(self) -> ssl.SSLContext:
        """The context for the next connection. Raises CertificateError while there is none."""
        if self._context is None:
            raise CertificateError("there is no serving certificate yet")
        return self._context

    def install(self, cert: bytes, key: bytes, client_ca: bytes | None = None) -> bool:
        """
        Serve this pair (PEM) from the next connection on; False when it is the one served already.

        A new `client_ca` takes the place of the old. Raises CertificateError, and changes nothing, when the pair or
        the CA can't be used.
        """
        authorities = self._client_ca if client_ca is None else client_ca
        if self._served == (cert, key, authorities):
            return False
        leaf = check_match(cert, key)
        context = self._build(cert, key, authorities)
        self._context, self._client_ca, self._served = context, authorities, (cert, key, authorities)
        self.expiry = expiry(cert)
        metrics.CERTIFICATE_EXPIRY.labels("serving").set(self.expiry.timestamp())
        logger.info(
            'msg="serving certificate installed" subject="%s" serial=%x expires=%s',
            leaf.subject.rfc4514_string(),
            leaf.serial_number,
            self.expiry.isoformat(),
        )
        return True

    def _build(self, cert: bytes, key: bytes, client_ca: bytes) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(CIPHERS)
        context.set_alpn_protocols(["http/1.1"])
        context.options |= ssl.OP_NO_RENEGOTIATION
        try:
            KeyPair(Pem("serving certificate", data=cert), Pem("serving key", data=key)).load_into(context)
            if client_ca:
                context.load_verify_locations(cadata=client_ca.decode("ascii", "ignore"))
        except (ConfigError, ssl.SSLError, ValueError) as error:
            raise CertificateError(f"the serving certificate or the client CA can't be used: {error}") from error
        if client_ca:
            context.verify_mode = ssl.CERT_REQUIRED if self._is_client_cert_required else ssl.CERT_OPTIONAL
        return context
