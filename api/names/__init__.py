"""
Every string that others see: labels, annotations, environment names, event reasons, object names.

Manifests, dashboards, scripts and other controllers rely on these strings, so each stands here once, and nowhere else
as a literal. Use it flat: `from api import names`, then `names.JOB_NAME_KEY` or `names.pod_name(...)`. How names are made:

- `..._LABEL` is used as a label, `..._ANNOTATION` as an annotation, `..._KEY` as both;
- `..._RESOURCE` is a resource name of a node or container;
- event reasons, environment variables, config maps and the like are grouped in classes: `names.JobReason.PLUGIN_ERROR`;
- functions build the names of children from the names of their parents.

Phases, actions and other values that a schema lists are generated constants. Volcano sets no finalizers, and neither do we.
"""

from api.names.children import *  # noqa: F403  # this module is the face of the package
from api.names.colocation import *  # noqa: F403
from api.names.devices import *  # noqa: F403
from api.names.events import *  # noqa: F403
from api.names.installed import *  # noqa: F403
from api.names.jobs import *  # noqa: F403
from api.names.processes import *  # noqa: F403
from api.names.scheduling import *  # noqa: F403
