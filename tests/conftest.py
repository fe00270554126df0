"""Settings for all tests."""

import hypothesis

# The gate gives the same answer each time: no new examples from one run to the next, and no
# deadline, which would be a real clock. To look for new ones: --hypothesis-profile=explore.
hypothesis.settings.register_profile("gate", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("gate")
