package proxy

import (
	"crypto/tls"
	"slices"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/hello"
)

// What HTTP/2 asks of TLS 1.2: an ephemeral key exchange and an AEAD, which RFC 9113
// §9.2.2 says by prohibiting all other cipher suites. crypto/tls agrees on h2 with
// any, and of those that it has some with CBC are prohibited.

// adequateECDSA are the suites for leaves, whose keys are ECDSA's, and adequate
// all that crypto/tls has.
var (
	adequateECDSA = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	}
	adequate = append([]uint16{
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}, adequateECDSA...)
)

// protocols are those that h offers, but for HTTP/2 where it could only be agreed
// on with a prohibited suite.
func protocols(h hello.ClientHello) []string {
	may := slices.Contains(h.Versions, tls.VersionName(tls.VersionTLS13)) ||
		slices.ContainsFunc(h.CipherSuites, func(suite uint16) bool { return slices.Contains(adequateECDSA, suite) })
	if may {
		return h.ALPN
	}
	return slices.DeleteFunc(slices.Clone(h.ALPN), func(protocol string) bool { return protocol == "h2" })
}

// inadequate is the failure of a session with a server that has chosen HTTP/2 and
// a prohibited suite; nil: it has not. Browsers don't take that either.
func inadequate(s tls.ConnectionState) error {
	if s.NegotiatedProtocol != "h2" || s.Version > tls.VersionTLS12 || slices.Contains(adequate, s.CipherSuite) {
		return nil
	}
	return failed(netlog.PhaseServerTLS, netlog.CodeBadAnswer, "INADEQUATE_SECURITY: the server chose HTTP/2 with the cipher suite "+tls.CipherSuiteName(s.CipherSuite))
}
