package proxy

import (
	"net/http"
	"slices"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// restTime is how long a browser whose request goes nowhere may pause in sending it
// before it is told. What comes without a pause is in the log whole; a request that
// lasts, as those of streaming calls do, is not waited for.
const restTime = time.Second

// comes waits for the rest of a request; false: there is a pause of that length.
func (ex *exchange) comes(pause time.Duration) bool {
	began := time.Now().UnixNano()
	for {
		left := time.Until(time.Unix(0, max(began, ex.lastSent.Load())).Add(pause))
		if left <= 0 {
			return false
		}
		timer := time.NewTimer(left)
		select {
		case <-ex.uploaded:
			timer.Stop()
			return true
		case <-timer.C:
		}
	}
}

// awaitUpload waits for the rest of a request whose answer is on its way whole. The
// server may go on taking it, for as long as it lasts. Where it takes no more, or no
// more is to be expected, a browser that pauses for that long learns of the exchange's
// end, by which it stops.
func (ex *exchange) awaitUpload(pause time.Duration) {
	if ex.holdsBack() && !ex.comes(ex.drainTime()) && !ex.came.Load() {
		ex.hurry()
	}
	select {
	case <-ex.uploaded:
		return
	case <-ex.unwanted:
	}
	if !ex.comes(pause) {
		ex.hurry()
	}
	<-ex.uploaded
}

// holdsBack tells a browser that waits for a 100 which has not come: behind another
// answer it need not send its body any more (RFC 9110 §10.1.1).
func (ex *exchange) holdsBack() bool {
	return ex.expects && !ex.came.Load() &&
		!slices.ContainsFunc(ex.informational, func(i netlog.Informational) bool { return i.Status == http.StatusContinue })
}

// awaitUpload does so, and sees meanwhile that the server ends its connection, or its
// half of it: that may still take what comes. It tells whether the connection goes on.
func (u *upstream) awaitUpload(ex *exchange) bool {
	if ex.isUploaded() {
		return true
	}
	over := make(chan struct{})
	u.waiting.clear()
	go func() {
		defer close(over)
		ex.awaitUpload(lingerTime)
		u.waiting.replace(past)
	}()
	err := u.br.await()
	if err != nil && !isTimeout(err) {
		ex.decline()
	}
	<-over
	u.waiting.clear()
	return isTimeout(err)
}
