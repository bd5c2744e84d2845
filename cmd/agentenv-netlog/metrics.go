package main

import (
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// metrics count what has ended, for Prometheus.
type metrics struct {
	registry *prometheus.Registry

	exchanges, tunnels, failures, refusals *prometheus.CounterVec
	sent, received                         prometheus.Counter
	durations                              prometheus.Histogram
}

const metricsPrefix = "agentenv_netlog_"

func newMetrics() *metrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help})
	}
	m := &metrics{
		registry:  prometheus.NewRegistry(),
		exchanges: counters("exchanges_total", "Requests that are over, by their way through the proxy, what their browser speaks and their answer's class (none: no answer).", "via", "protocol", "status"),
		tunnels:   counters("tunnels_total", "Tunnels that are over, by their way through the proxy.", "via"),
		failures:  counters("failures_total", "Exchanges and tunnels that broke, by where and why.", "phase", "code"),
		refusals:  counters("refusals_total", "Exchanges and tunnels that were turned down, by why.", "code"),
		sent:      counter("sent_bytes_total", "Bytes from browsers, heads and bodies, of what is over."),
		received:  counter("received_bytes_total", "Bytes to browsers, heads and bodies, of what is over."),
		durations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: metricsPrefix + "exchange_duration_seconds", Help: "How long exchanges took, from the request's head to the answer's end.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
	m.registry.MustRegister(m.exchanges, m.tunnels, m.failures, m.refusals, m.sent, m.received, m.durations,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds the live figures of a proxy and its log, the file at path.
func (m *metrics) watch(p *proxy.Proxy, log *netlog.Writer, path string) {
	gauge := func(name, help string, labels prometheus.Labels, value func() int64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricsPrefix + name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value()) }))
	}
	counter := func(name, help string, value func() int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help},
			func() float64 { return float64(value()) }))
	}
	const open = "Exchanges and tunnels that have begun and not ended."
	gauge("open", open, prometheus.Labels{"kind": "exchange"}, func() int64 { return p.Stats().Exchanges })
	gauge("open", open, prometheus.Labels{"kind": "tunnel"}, func() int64 { return p.Stats().Tunnels })
	gauge("connections", "Connections of browsers.", nil, func() int64 { return p.Stats().Connections })

	gauge("log_queue_bytes", "Bytes of lines that wait to be written.", nil, func() int64 { return log.Stats().Queued })
	gauge("log_size_bytes", "Size of the log's live file.", nil, func() int64 { return fileSize(path) })
	gauge("log_stalled", "1 while lines are lost, as the queue is full and nothing can be written.", nil, func() int64 {
		if log.Stats().Stalled {
			return 1
		}
		return 0
	})
	counter("log_lines_total", "Lines that were given a number.", func() int64 { return log.Stats().Lines })
	counter("log_written_bytes_total", "Bytes that were written.", func() int64 { return log.Stats().Bytes })
	counter("log_lost_total", "Exchanges and tunnels without lines.", func() int64 { return log.Stats().Lost })
	counter("log_cut_total", "Exchanges and tunnels whose end was lost.", func() int64 { return log.Stats().Cut })
	counter("log_write_failures_total", "Writes and syncs that failed.", func() int64 { return log.Stats().Failures })
}

// fileSize is -1 when it can't be known.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// ended counts an exchange or a tunnel.
func (m *metrics) ended(o *netlog.Open, e *netlog.End) {
	sent, received := passed(o, e)
	m.sent.Add(float64(sent))
	m.received.Add(float64(received))
	if f := e.Failed; f != nil {
		m.failures.WithLabelValues(string(f.Phase), string(f.Code)).Inc()
	}
	if r := e.Refused; r != nil {
		m.refusals.WithLabelValues(string(r.Code)).Inc()
	}
	if o.Kind == netlog.KindTunnel {
		m.tunnels.WithLabelValues(string(o.Via)).Inc()
		return
	}
	m.exchanges.WithLabelValues(string(o.Via), protocol(o.Request), statusClass(e.Response)).Inc()
	if e.Refused == nil {
		m.durations.Observe(float64(e.Timings.Total) / 1e6)
	}
}

// protocol keeps the label to a few values, one of them for what was no HTTP.
func protocol(r *netlog.Request) string {
	if r == nil || r.Version == "" {
		return "none"
	}
	return r.Version
}

// statusClass keeps the label to a few values whatever servers answer.
func statusClass(r *netlog.Response) string {
	switch {
	case r == nil:
		return "none"
	case r.Status >= 600:
		return "other"
	}
	return strconv.Itoa(r.Status/100) + "xx"
}

// passed are the bytes that passed each way.
func passed(o *netlog.Open, e *netlog.End) (sent, received int64) {
	if t := e.Tunnel; t != nil {
		return t.Sent, t.Received
	}
	for _, r := range []*netlog.Request{o.Request, e.Request} {
		if r != nil {
			sent += r.HeaderBytes + bodySize(r.Body)
		}
	}
	if r := e.Response; r != nil {
		received = r.HeaderBytes + bodySize(r.Body)
	}
	if s := e.WebSocket; s != nil {
		sent += s.Sent.Bytes
		received += s.Received.Bytes
	}
	return sent, received
}

func bodySize(b *netlog.Body) int64 {
	if b == nil {
		return 0
	}
	return b.Size
}
