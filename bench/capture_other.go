//go:build !linux

package main

import (
	"context"
	"fmt"
)

func (b *bench) capture(context.Context) ([]part, error) {
	return nil, fmt.Errorf("%w: it is measured on Linux", errLacking)
}
