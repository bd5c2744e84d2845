package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/h2"
)

// Why a client's context ended.
var (
	errClientGone = errors.New("the browser went away")
	// A browser can take for HTTP what is none to us. It repeats on a new connection
	// what this one, which is closed, does not answer.
	errClientWentOn = errors.New("the browser saw the answer's end before the server closed")
	errStopped      = errors.New("the proxy was stopped")
)

// errOwnAddress is the error of dialling the proxy itself.
var errOwnAddress = errors.New("the address is the proxy's own")

// A failure is how an exchange or a tunnel broke, as the log has it, or, when
// refused is set, how it was turned down.
type failure struct {
	netlog.Failed
	refused *netlog.Refused
	peer    *h2.Error // a server's word in HTTP/2 that it follows from; nil: none
}

func (f *failure) Error() string { return f.Reason }

// status is that of the page that the browser gets for it.
func (f *failure) status() int {
	switch {
	case f.refused != nil:
		return f.refused.Status
	case f.Code == netlog.CodeTimeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

func failed(phase netlog.Phase, code netlog.Code, reason string) *failure {
	return &failure{Failed: netlog.Failed{Phase: phase, Code: code, Reason: reason}}
}

func refusal(code netlog.RefusedCode, status int, reason string) *failure {
	return &failure{refused: &netlog.Refused{Code: code, Status: status, Reason: reason}, Failed: netlog.Failed{Reason: reason}}
}

// fail says what err, met in phase by the work of c, is in the log's words.
func (c *client) fail(phase netlog.Phase, err error) *failure { return c.p.failure(c.ctx, phase, err) }

// fail does so for the exchange's work.
func (ex *exchange) fail(phase netlog.Phase, err error) *failure {
	return ex.p.failure(ex.ctx, phase, err)
}

// failure says what err, met in phase by the work that ctx is of, is in the log's
// words. What ended that as a whole goes before err, which then only follows from it.
func (p *Proxy) failure(ctx context.Context, phase netlog.Phase, err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var fault browserFault
	switch cause := context.Cause(ctx); {
	case p.killed.Load(), cause == errStopped:
		return failed(phase, netlog.CodeStopped, errStopped.Error())
	case cause == errClientGone, cause == errClientWentOn, errors.As(cause, new(browserReset)):
		return failed(phase, netlog.CodeClientGone, cause.Error())
	case errors.As(cause, &fault):
		return fault.failed(phase)
	case cause != nil && errors.As(cause, &f):
		return f
	}
	return classify(phase, err)
}

// classify says what a network's error is in the log's words.
func classify(phase netlog.Phase, err error) *failure {
	var behind *parentError
	if errors.As(err, &behind) {
		f := classify(phase, behind.error)
		f.Reason = "the upstream proxy " + behind.parent.String() + ": " + f.Reason
		if f.Phase == netlog.PhaseServerTLS {
			f.Phase = phase
		}
		if f.refused != nil {
			f.refused.Reason = f.Reason
		}
		return f
	}
	var e *h2.Error
	if errors.As(err, &e) {
		return classifyHTTP2(phase, e)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		code := netlog.CodeUnreachable
		if dns.IsNotFound {
			code = netlog.CodeNotFound
		} else if dns.IsTimeout {
			code = netlog.CodeTimeout
		}
		return failed(netlog.PhaseDNS, code, fmt.Sprintf("resolving %q: %s", dns.Name, dns.Err))
	}
	if errors.Is(err, errOwnAddress) {
		return refusal(netlog.RefusedOwnAddress, http.StatusForbidden, err.Error())
	}
	reason := err.Error()
	switch {
	case phase != netlog.PhaseClientTLS && refusedCertificate(err):
		return failed(netlog.PhaseServerTLS, netlog.CodeRefused, "the server does not take the client's certificate, or lack of one: "+reason)
	case isCertificate(err):
		return failed(phase, netlog.CodeBadCertificate, reason)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT), isTimeout(err):
		return failed(phase, netlog.CodeTimeout, timeoutReason(phase))
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed(phase, netlog.CodeRefused, reason)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EINVAL):
		return failed(phase, netlog.CodeUnreachable, reason)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return failed(phase, netlog.CodeReset, "the server closed the connection")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return failed(phase, netlog.CodeReset, reason)
	case phase == netlog.PhaseServerTLS:
		return failed(phase, netlog.CodeBadAnswer, reason)
	}
	return failed(phase, netlog.CodeUnreachable, reason)
}

// classifyHTTP2 is classify for what a server has said, or done wrong, in HTTP/2.
func classifyHTTP2(phase netlog.Phase, e *h2.Error) *failure {
	var f *failure
	switch {
	case e.Late:
		f = failed(phase, netlog.CodeTimeout, e.Error())
	case !e.Remote:
		f = failed(phase, netlog.CodeBadAnswer, e.Error())
	case e.Stream:
		f = failed(phase, netlog.CodeReset, e.Code.String()+": the server reset the stream")
	case e.Reason == "":
		f = failed(phase, netlog.CodeReset, e.Code.String()+": the server ended the connection")
	default:
		f = failed(phase, netlog.CodeReset, e.Error())
	}
	f.peer = e
	return f
}

func timeoutReason(phase netlog.Phase) string {
	switch phase {
	case netlog.PhaseConnect:
		return "the server did not take the connection in time"
	case netlog.PhaseServerTLS:
		return "the server's TLS handshake took too long"
	case netlog.PhaseClientTLS:
		return "the browser's TLS handshake took too long"
	case netlog.PhaseWait:
		return "the server sent no answer in time"
	case netlog.PhaseReceive:
		return "the answer stalled"
	case netlog.PhaseSend:
		return "the request stalled"
	}
	return "a time limit ran out"
}

func isEPIPE(err error) bool { return errors.Is(err, syscall.EPIPE) }

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// temporary tells the errors of Accept that pass: one connection's own, or no
// descriptor left for it.
func temporary(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ECONNRESET, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func isCertificate(err error) bool {
	var (
		unknown     x509.UnknownAuthorityError
		invalid     x509.CertificateInvalidError
		hostname    x509.HostnameError
		verify      *tls.CertificateVerificationError
		constraints x509.ConstraintViolationError
	)
	return errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &hostname) || errors.As(err, &verify) || errors.As(err, &constraints)
}

// refusedCertificate tells the alerts by which the other side says that it does
// not take the certificate that it was shown, or shown none (RFC 8446 §6.2).
func refusedCertificate(err error) bool {
	// bad, unsupported, revoked, expired, unknown certificate; unknown CA; access
	// denied; certificate unobtainable, its status or its hash bad; certificate required
	return received(err, 42, 43, 44, 45, 46, 48, 49, 111, 113, 114, 116)
}

// received tells whether err is one of these alerts, from the other side.
func received(err error, alerts ...tls.AlertError) bool {
	var alert tls.AlertError
	if errors.As(err, &alert) {
		return slices.Contains(alerts, alert)
	}
	// Without QUIC crypto/tls wraps a received alert in a net.OpError whose text is
	// all that is exported.
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" &&
		slices.ContainsFunc(alerts, func(a tls.AlertError) bool { return op.Err.Error() == a.Error() })
}
