package main

import (
	"slices"
	"time"
)

// A sample is one measurement of one party, or the median of some.
type sample struct {
	user, system time.Duration // a request's share, or a GiB's
	rate         float64       // requests a second
	bytesRate    float64       // bytes a second
	p50, p99     time.Duration
	rss          int64   // bytes, at most
	connection   int64   // bytes of an idle connection
	files        float64 // descriptors of one
}

func (s sample) cpu() time.Duration { return s.user + s.system }

// A row is what is said of one party at one workload.
type row struct {
	workload workload
	party    string
	sample   sample
	err      error // why it has no figures
}

// median is that of each figure by itself.
func median(samples []sample) sample {
	if len(samples) == 0 {
		return sample{}
	}
	m := samples[0]
	m.user = middle(samples, func(s sample) time.Duration { return s.user })
	m.system = middle(samples, func(s sample) time.Duration { return s.system })
	m.rate = middle(samples, func(s sample) float64 { return s.rate })
	m.bytesRate = middle(samples, func(s sample) float64 { return s.bytesRate })
	m.p50 = middle(samples, func(s sample) time.Duration { return s.p50 })
	m.p99 = middle(samples, func(s sample) time.Duration { return s.p99 })
	m.rss = middle(samples, func(s sample) int64 { return s.rss })
	m.connection = middle(samples, func(s sample) int64 { return s.connection })
	m.files = middle(samples, func(s sample) float64 { return s.files })
	return m
}

// middle is the median of one figure; of an even number the mean of the two in
// the middle.
func middle[T time.Duration | float64 | int64](samples []sample, figure func(sample) T) T {
	all := make([]T, len(samples))
	for i, s := range samples {
		all[i] = figure(s)
	}
	slices.Sort(all)
	half := len(all) / 2
	if len(all)%2 == 0 {
		return (all[half-1] + all[half]) / 2
	}
	return all[half]
}
