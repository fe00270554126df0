"""Settings for all tests."""

import signal

import hypothesis

# The gate gives the same answer each time: no new examples from one run to the next, and no
# deadline, which would be a real clock. To look for new ones: --hypothesis-profile=explore.
hypothesis.settings.register_profile("gate", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("gate")

# A shell that starts us in the background ignores Ctrl-C for us and for all that we start; tests
# send it to commands that must end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
