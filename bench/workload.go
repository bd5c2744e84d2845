package main

import (
	"time"

	"github.com/agentenv/netlog/bench/internal/load"
	"github.com/agentenv/netlog/bench/internal/origin"
)

const (
	mib   = 1 << 20
	large = 100 * mib
)

// A workload is one way to use a proxy.
type workload struct {
	name    string
	about   string
	load    load.Config // without addresses
	secure  bool        // the origin's TLS, which the proxy decrypts
	tunnel  bool        // every CONNECT is relayed undecrypted
	noHash  bool        // ours makes no SHA-256 of bodies
	parties []string    // in the order of their turns
	idle    bool        // nothing is sent: what counts is the memory of a connection
	perGiB  bool        // the cost is of a GiB, not of a request
	warmUp  time.Duration
}

// workloads are all of them. Martian is left out where its HAR log, which holds
// every body, would take the machine's memory, and mitmdump, which takes minutes
// for what others take a second for; squid has its turn at what is a page's.
func workloads() []workload {
	all := []string{"ours", "goproxy", "martian", "floor", "mitmdump", "squid"}
	most := []string{"ours", "goproxy", "floor"}
	const short = 300 * time.Millisecond
	return []workload{
		{
			name: "json", about: "1.5 KB of JSON over 32 kept-alive TLS connections",
			load: load.Config{Target: origin.JSON, Tunnel: true, Connections: 32}, secure: true, parties: all, warmUp: short,
		}, {
			name: "connect", about: "a new connection and TLS handshakes for each request, 8 at a time",
			load: load.Config{Target: origin.Once, Tunnel: true, Connections: 8, Fresh: true}, secure: true, parties: all, warmUp: short,
		}, {
			name: "large", about: "100 MiB answers over TLS, 4 at a time",
			load: load.Config{Target: origin.Bytes + "104857600", Tunnel: true, Connections: 4}, secure: true, parties: []string{"ours", "goproxy", "floor", "squid"},
		}, {
			name: "no-hash", about: "the same without the SHA-256 of bodies (--hash off)",
			load: load.Config{Target: origin.Bytes + "104857600", Tunnel: true, Connections: 4}, secure: true, noHash: true, parties: []string{"ours", "floor"},
		}, {
			name: "h2", about: "1.5 KB of JSON, 100 streams at a time on each of 4 connections of HTTP/2",
			load: load.Config{Target: origin.JSON, Tunnel: true, Connections: 4, Streams: 100}, secure: true, parties: []string{"ours", "floor", "nghttpx"}, warmUp: short,
		}, {
			name: "h2-large", about: "1 MiB answers, 100 streams at a time on each of 4 connections of HTTP/2",
			load: load.Config{Target: origin.Bytes + "1048576", Tunnel: true, Connections: 4, Streams: 100}, secure: true, perGiB: true, parties: []string{"ours", "floor", "nghttpx"}, warmUp: short,
		}, {
			name: "plain", about: "1.5 KB of JSON over 32 kept-alive http:// connections",
			load: load.Config{Target: origin.JSON, Connections: 32}, parties: []string{"ours", "goproxy", "martian", "mitmdump", "squid"}, warmUp: short,
		}, {
			name: "messages", about: "messages of 100 B and their echoes on 32 WebSockets, a message and its echo being a request",
			load: load.Config{Target: origin.Echo, Tunnel: true, Connections: 32, Message: 100}, secure: true, parties: most, warmUp: short,
		}, {
			name: "tunnel", about: "100 MiB answers through 4 undecrypted tunnels",
			load: load.Config{Target: origin.Bytes + "104857600", Tunnel: true, Connections: 4}, tunnel: true, perGiB: true, parties: most,
		}, {
			name: "upload", about: "uploads of 20 MiB over TLS, 64 at a time",
			load: load.Config{Target: origin.Sink, Upload: 20 * mib, Tunnel: true, Connections: 64}, secure: true, parties: most,
		}, {
			name: "idle", about: "1,000 connections that have had one exchange",
			load: load.Config{Target: origin.JSON, Tunnel: true, Connections: 1000}, secure: true, idle: true, parties: most,
		}, {
			name: "idle-tunnels", about: "1,000 undecrypted tunnels that have had one exchange",
			load: load.Config{Target: origin.JSON, Tunnel: true, Connections: 1000}, tunnel: true, idle: true, parties: most,
		},
	}
}

// What grows.
const (
	nameConnections = "connections"
	nameSizes       = "sizes"
	nameRates       = "rates"
	nameLogs        = "logs"
)

// The workloads that are no proxying.
const (
	nameLines   = "lines"
	nameNetwork = "network"
	nameStart   = "start"
	nameDNS     = "dns"
	nameCapture = "capture"
	nameHAR     = "har"

	// Of nameStart.
	nameStartLong = "start, a GiB of log"

	// Of nameHAR.
	nameLongHAR  = "har, long"
	nameTwiceHAR = "har, twice as long"
	nameBomb     = "har, bombs"
	nameNoBomb   = "har, no bombs"
)

func workloadNames() []string {
	var names []string
	for _, w := range workloads() {
		names = append(names, w.name)
	}
	return append(names, nameLines, nameNetwork, nameStart, nameDNS, nameCapture, nameHAR, nameConnections, nameSizes, nameRates, nameLogs)
}
