"""The ssh plugin: the pods of a job log in to each other without a password (controllers.md 4.3)."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from api import names
from controllers.job.plugins.base import JobPlugin, Upkeep, Wanted
from controllers.job.plugins.dressing import add_volume
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job
from generated.core.v1 import SECRETS

_DEFAULT_PORT: Final = 22
_KEY_BITS: Final = 2048
_FOLDER: Final = ".ssh"
_OWNER_ONLY, _READABLE = 0o600, 0o644


def client_config(job: Job, port: int) -> str:
    """The ssh client's configuration: every pod of the job by its host name."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job.spec.tasks:
        template = task.template.spec
        subdomain = template.subdomain or names.svc_name(job.metadata.name)
        hosts = (
            [template.hostname]
            if template.hostname
            else [names.pod_name(job.metadata.name, task.name, ordinal) for ordinal in range(task.replicas)]
        )
        for host in hosts:
            lines += [f"Host {host}", f"  HostName {host}.{subdomain}", f"  Port {port}"]
    return "\n".join(lines) + "\n"


def new_key_pair() -> tuple[str, str]:
    """A private key (PKCS#1, PEM) and its public key as a line of OpenSSH. Takes about 0.1 s of computing."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode() + "\n"


class Ssh(JobPlugin):
    """A key pair and a client configuration in a secret that every container mounts."""

    name = names.JobPlugin.SSH

    @property
    def port(self) -> int:
        """Where the servers listen."""
        port = int(self.options["ssh-port"])
        return port if 0 < port <= 65535 else _DEFAULT_PORT

    def objects(self, job: Job) -> Sequence[Wanted]:
        config = client_config(job, self.port)
        tells = {names.SshFile.CONFIG: _encoded(config)}
        return (
            Wanted(
                SECRETS,
                names.ssh_secret_name(job.metadata.name),
                lambda: self._secret(config),
                Upkeep.RENEW,
                tells=tells,
            ),
        )

    def _secret(self, config: str) -> Mapping[str, Any]:
        private, public = str(self.options["ssh-private-key"]), str(self.options["ssh-public-key"])
        if not private:
            private, public = new_key_pair()
        files = {
            names.SshFile.PRIVATE_KEY: private,
            names.SshFile.PUBLIC_KEY: public,
            names.SshFile.AUTHORIZED_KEYS: public,
            names.SshFile.CONFIG: config,
        }
        return {"data": {name: _encoded(text) for name, text in files.items()}}

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        del place
        name = names.ssh_secret_name(job.metadata.name)
        path = str(self.options["ssh-key-file-path"])
        files = (
            names.SshFile.PRIVATE_KEY,
            names.SshFile.PUBLIC_KEY,
            names.SshFile.AUTHORIZED_KEYS,
            names.SshFile.CONFIG,
        )
        secret = {
            "secretName": name,
            "items": [{"key": file, "path": f"{_FOLDER}/{file}"} for file in files],
            # another path is another user's, who could not read root's files
            "defaultMode": _OWNER_ONLY if path == names.SSH_MOUNT_PATH else _READABLE,
        }
        mount = {"name": name, "mountPath": path, "subPath": _FOLDER}
        add_volume(pod, {"name": name, "secret": secret}, mount)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
