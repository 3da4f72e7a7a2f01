# One image for all processes; the command says which one it is. `make images` builds it.
#
# BASE is any Python image of 3.11 to 3.14, such as a mirrored one: --build-arg BASE=...
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ARG GIT_SHA=""
ARG BUILT_AT=""
ARG VERSION=""
WORKDIR /src
RUN python -m venv /opt/stromboli
# Dependencies change seldom, so they are a layer of their own.
COPY hack/requirements/runtime.txt hack/requirements/runtime.txt
RUN /opt/stromboli/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r hack/requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY api api
COPY cli cli
COPY cluster cluster
COPY codegen codegen
COPY controllers controllers
COPY generated generated
COPY runtime runtime
COPY scheduler scheduler
COPY webhooks webhooks
RUN printf '{"version": "%s", "gitSHA": "%s", "builtAt": "%s"}' "$VERSION" "$GIT_SHA" "$BUILT_AT" > runtime/build.json \
 && /opt/stromboli/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps . \
 && /opt/stromboli/bin/pip uninstall --yes --quiet pip \
 && /opt/stromboli/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/stromboli
# The bill of materials, of what is installed; the tool for it stays behind.
COPY hack/requirements/audit.txt hack/requirements/audit.txt
RUN python -m venv /opt/audit \
 && /opt/audit/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r hack/requirements/audit.txt \
 && mkdir -p /opt/stromboli/share \
 && /opt/audit/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
    -o /opt/stromboli/share/bom.cdx.json /opt/stromboli/bin/python

FROM ${BASE}
COPY --from=build /opt/stromboli /opt/stromboli
# The root file system may be read-only: everything is compiled, and only /tmp is written to.
ENV PATH=/opt/stromboli/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 1000:1000
CMD ["vc-scheduler", "--version"]
