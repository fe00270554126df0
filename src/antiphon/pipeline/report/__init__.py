"""One page for people: tables and plots of a run, a campaign, or a comparison with a paper."""
