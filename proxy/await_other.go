//go:build !unix

package proxy

// An awaiting is what waiting for a connection without reading it needs: only
// Unix can.
type awaiting struct{}

func (c *peeked) canAwait() bool { return false }

func (c *peeked) await() {}
