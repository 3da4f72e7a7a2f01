"""
`python -m hack.deploy`: what `make deploy` and its kin run.

Manifests come from the kustomize overlays in `config/`, so that people may go on with overlays of their own; objects
are applied by kubectl, so that every kubeconfig that works there works here.
"""
