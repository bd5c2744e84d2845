package api

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics count the calls, for Prometheus.
type metrics struct {
	registry *prometheus.Registry
	answered *prometheus.CounterVec
	running  *prometheus.GaugeVec
}

func newMetrics() *metrics {
	const prefix = "agentenv_netlog_serve_"
	m := &metrics{
		registry: prometheus.NewRegistry(),
		answered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "requests_total", Help: "Requests that were answered, by route and status.",
		}, []string{"route", "code"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "requests_in_flight", Help: "Requests that are being answered, by route; WebSockets as long as they are open.",
		}, []string{"route"}),
	}
	m.registry.MustRegister(m.answered, m.running,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// count counts a route's answers.
func (m *metrics) count(route string, next http.Handler) http.Handler {
	next = promhttp.InstrumentHandlerCounter(m.answered.MustCurryWith(prometheus.Labels{"route": route}), next)
	return promhttp.InstrumentHandlerInFlight(m.running.WithLabelValues(route), next)
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
