package battery

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// Ours is the proxy of this module, in this process.
func Ours() Proxy { return ours{} }

type ours struct{}

func (ours) Name() string { return "agentenv-netlog" }

// keep is what our log keeps of bodies: enough to see, and little to check in
// the many logs that the battery leaves.
var keep = netlog.Limits{RequestBody: 256 << 10, ResponseBody: 64 << 10, Types: "text"}

func (ours) Start(s Setup) (Instance, error) {
	i := &ourInstance{served: make(chan error, 1)}
	if s.LogPath != "" {
		var err error
		i.log, err = netlog.OpenWriter(netlog.WriterConfig{
			Path: s.LogPath, Program: "battery", Version: "0", Mode: "proxy",
			Limits: keep, Sync: netlog.SyncNever,
		})
		if err != nil {
			return nil, err
		}
	}
	c := proxy.Config{Log: i.log, Leaf: s.Leaf, Dial: s.Dial, UpstreamRoots: s.Roots, Keep: keep, Timeouts: proxy.Timeouts(s.Limits)}
	if s.Tunnel {
		c.Policy = func(proxy.Target) proxy.Decision { return proxy.Decision{Action: proxy.TunnelThrough} }
	}
	var err error
	if i.proxy, err = proxy.New(c); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i.addr = l.Addr().String()
	go func() { i.served <- i.proxy.Serve(l) }()
	return i, nil
}

type ourInstance struct {
	log    *netlog.Writer
	proxy  *proxy.Proxy
	addr   string
	served chan error
}

func (i *ourInstance) Addr() string { return i.addr }

func (i *ourInstance) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	i.proxy.Shutdown(ctx) // what it had to stop is in the log
	err := <-i.served
	if i.log != nil {
		err = errors.Join(err, i.log.Close())
	}
	return err
}
