"""
The second stage of the generator: manifests that follow from the code, not from the schemas.

`codegen` knows nothing of the components; this imports them and writes what they declare: the roles under
`config/rbac` and the webhook configurations under `config/webhooks`.
"""
