package e2e

import "testing"

// haralyzer takes every entry, in the order of their times.
func readWithHaralyzer(t *testing.T, c *collection) {
	holds(t, c.entries, readings(t, venv(t), inTestdata(t, "readers", "with_haralyzer.py"), c.har), nil)
}
