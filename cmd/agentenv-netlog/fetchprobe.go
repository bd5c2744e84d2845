package main

import (
	"context"
	"fmt"
	"io"

	"github.com/agentenv/netlog/capture/traffic"
)

// runProbe says of each guarded route whether it is.
func runProbe(ctx context.Context, f fetchFlags, collectors []*traffic.Collector, stdout io.Writer) error {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	if f.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("it took more than %v", f.timeout))
		defer cancel()
		ctx = limited
	}
	routes, wrong := 0, 0
	for _, c := range collectors {
		checks, err := c.Client.Probe(ctx)
		if err != nil {
			return failed(err, "give the address of an env that is up")
		}
		for _, check := range checks {
			state, why := "guarded", ""
			if routes++; check.Err != nil {
				wrong++
				state, why = "WRONG  ", ": "+oneLine(check.Err.Error())
			}
			fmt.Fprintf(stdout, "%s  %s  %s%s\n", state, c.Client.Address(), printable(check.Route), printable(why))
		}
	}
	if wrong > 0 {
		return failed(fmt.Errorf("%d of %d routes are not guarded as they should be", wrong, routes),
			"start the env with a control token in "+tokenVariable)
	}
	return nil
}
