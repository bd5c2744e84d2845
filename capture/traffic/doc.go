// Package traffic is traffic/v1, urn:agentenv:traffic/v1: captures listed and
// downloaded over HTTP.
//
// A [Handler] serves those of a folder, and [NewExtension] is what its env's card
// has. Errors are {"ok":false,"error":{"code","message"}}, and a success is the
// plain result. Who may ask is for those to say who mount it.
package traffic
