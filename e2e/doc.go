// Package e2e runs the built binary among real parties on loopback: Chromium,
// Firefox, curl, wget, git, npm, pip, Python's, Node's, Java's and Go's clients,
// nginx, nghttpx, Node's server, h2load, h2spec, grpc-go and a Go origin, over TLS
// with an authority of its own; tcpdump in network namespaces; routed sites, the
// whole product (TestTheTour) and the image in Docker's engine on computers of
// their own. The programs that people give HARs and captures to read what comes of
// it. It holds tests alone; each is one fact, and a world holds every party.
//
// `go test ./...` runs what this machine has the programs for and skips the
// rest, with its reason. `make e2e` installs them and sets NETLOG_E2E=all: then
// a test that would be skipped fails.
package e2e
