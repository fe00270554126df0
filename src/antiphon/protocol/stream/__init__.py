"""A site's stream of bundles: ring, order, stability, recovery."""
