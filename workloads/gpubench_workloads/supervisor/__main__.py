"""Start the supervisor: python -m gpubench_workloads.supervisor --spec FILE --output FOLDER."""

import sys

from gpubench_workloads.supervisor.main import main

sys.exit(main())
