// Package traffic is traffic/v1, urn:agentenv:traffic/v1: captures listed and
// downloaded over HTTP.
//
// A [Handler] serves those of a folder, and [NewExtension] is what its env's card
// has. Who may ask is for those to say who mount it. Errors are
// {"ok":false,"error":{"code","message"}}, and a success is the plain result.
//
// A [Client] reads an env's card, lists and downloads what it advertises, of any
// server, with the env's token and to no other. A [Collector] brings all of it
// into a folder whose [Manifest] is true at every moment:
//
//	client, err := traffic.NewClient(traffic.ClientConfig{Address: "http://gateway:8080", Token: token})
//	…
//	defer client.Close()
//	manifest, err := (&traffic.Collector{Client: client, Dir: "traffic"}).Collect(ctx)
package traffic
