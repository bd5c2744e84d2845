package netlog

import (
	"syscall"
	"testing"
	"time"
)

// cpu starts to count the process's CPU time; the function that it returns
// reports it per operation, which another program on the machine disturbs less
// than the time that passed.
func cpu(b *testing.B) func() {
	used := func() (user, system time.Duration) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
	}
	user, system := used()
	return func() {
		u, s := used()
		b.ReportMetric(float64(u-user)/float64(b.N)/1e3, "user-µs/op")
		b.ReportMetric(float64(s-system)/float64(b.N)/1e3, "system-µs/op")
	}
}
