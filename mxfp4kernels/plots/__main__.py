"""``python -m mxfp4kernels.plots``."""

import sys

from . import main

sys.exit(main())
