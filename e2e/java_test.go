package e2e

import "strings"

func javas() []client {
	return []client{{
		name: "java",
		run: func(s *session) {
			need(s.t, "javac")
			s.do(need(s.t, "keytool"), "-importcert", "-noprompt", "-alias", "proxy", "-file", "{trust}", "-keystore", "{home}/trust.p12", "-storetype", "PKCS12", "-storepass", "changeit")
			host, port, _ := strings.Cut(s.proxy.address, ":")
			s.said(s.do(need(s.t, "java"), "-XX:TieredStopAtLevel=1", "-Xmx256m",
				"-Dhttps.proxyHost="+host, "-Dhttps.proxyPort="+port, "-Dhttp.proxyHost="+host, "-Dhttp.proxyPort="+port, "-Dhttp.nonProxyHosts=",
				"-Djavax.net.ssl.trustStore={home}/trust.p12", "-Djavax.net.ssl.trustStorePassword=changeit",
				script(s.t, "Client.java"), "{tls}", "{plain}"), "done\n")
		},
		asks: []string{"POST https://{tls}/echo?known 200", "PUT https://{tls}/echo?unknown 200", "GET https://{tls}/moved 302", "GET http://{plain}/large?size=2500000 200", "GET https://{tls}/echo?n=19 200", "GET wss://{tls}/socket 101", "GET ws://{plain}/socket 101"},
	}}
}
