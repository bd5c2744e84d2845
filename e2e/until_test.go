package e2e

import (
	"context"
	"testing"
	"time"
)

// patience is how long anything may take on a busy machine.
const patience = 5 * time.Minute

// until polls a condition and fails the test when it does not come true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}
