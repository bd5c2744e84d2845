package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/bench/internal/partytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItServesWhatItIsMeasuredAt(t *testing.T) { partytest.Run(t, serve) }

func TestItServesHTTP2(t *testing.T) { partytest.RunHTTP2(t, serve) }

func TestItServesWebSockets(t *testing.T) { partytest.RunWebSockets(t, serve) }
