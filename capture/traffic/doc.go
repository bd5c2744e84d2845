// Package traffic is traffic/v1, urn:agentenv:traffic/v1: captures listed and
// downloaded over HTTP.
//
// A [Handler] serves those of a folder. A [Client] reads another env's card, and
// lists and downloads what it advertises; [Collect] brings all of it into a folder
// whose manifest is true at every moment.
//
// Errors are {"ok":false,"error":{"code","message"}}, and a success is the plain
// result. A client takes the other shapes that envs answer with, too.
package traffic
