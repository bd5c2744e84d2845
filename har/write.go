package har

// The order of the members below is the archive's; the tests hold it against
// the types' tags.

func (e *encoder) entry(v *Entry) {
	e.object("", func() {
		e.stringIf("pageref", v.Pageref)
		e.string("startedDateTime", v.StartedDateTime)
		e.millis("time", v.Time)
		e.request(&v.Request)
		e.response(&v.Response)
		e.object("cache", func() {})
		e.timings(&v.Timings)
		e.stringIf("serverIPAddress", v.ServerIPAddress)
		e.stringIf("connection", v.Connection)
		e.intIf("_id", v.ID)
		if v.MonotonicTime != 0 {
			e.millis("_monotonicTime", v.MonotonicTime)
		}
		e.stringIf("_via", v.Via)
		e.stringIf("_site", v.Site)
		e.stringIf("_resourceType", v.ResourceType)
		if i := v.Initiator; i != nil {
			e.object("_initiator", func() {
				e.string("type", i.Type)
				e.stringIf("url", i.URL)
			})
		}
		e.stringIf("_connectionId", v.ConnectionID)
		e.intIf("_streamId", v.StreamID)
		e.intIf("_serverPort", v.ServerPort)
		e.securityDetails(v.SecurityDetails)
		e.clientTLS(v.ClientTLS)
		e.boolIf("_open", v.Open)
		if f := v.Failed; f != nil {
			e.object("_failed", func() {
				e.string("phase", f.Phase)
				e.string("code", f.Code)
				e.string("reason", f.Reason)
			})
		}
		if r := v.Refused; r != nil {
			e.object("_refused", func() {
				e.string("code", r.Code)
				e.string("reason", r.Reason)
				e.int("status", int64(r.Status))
			})
		}
		e.boolIf("_unparsed", v.Unparsed)
		e.strings("_changed", v.Changed)
		e.tunnel(v.Tunnel)
		e.webSocket(v.WebSocket)
		e.webSocketMessages(v.WebSocketMessages)
		e.webSocketClose("_webSocketClose", v.WebSocketClose)
		e.eventSourceMessages(v.EventSourceMessages)
		e.grpcMessages(v.GRPCMessages)
	})
}

func (e *encoder) request(v *Request) {
	e.object("request", func() {
		e.string("method", v.Method)
		e.string("url", v.URL)
		e.string("httpVersion", v.HTTPVersion)
		e.cookies(v.Cookies)
		e.headers("headers", v.Headers)
		e.params("queryString", v.QueryString)
		if p := v.PostData; p != nil {
			e.object("postData", func() {
				e.string("mimeType", p.MimeType)
				if len(p.Params) > 0 {
					e.params("params", p.Params)
				}
				e.string("text", p.Text)
				e.stringIf("encoding", p.Encoding)
				e.stringIf("_base64", p.Base64)
				e.bodyNote(&p.BodyNote)
			})
		}
		e.int("headersSize", v.HeadersSize)
		e.int("bodySize", v.BodySize)
		e.headersIf("_pseudoHeaders", v.PseudoHeaders)
		e.headersIf("_trailers", v.Trailers)
	})
}

func (e *encoder) response(v *Response) {
	e.object("response", func() {
		e.int("status", int64(v.Status))
		e.string("statusText", v.StatusText)
		e.string("httpVersion", v.HTTPVersion)
		e.cookies(v.Cookies)
		e.headers("headers", v.Headers)
		e.object("content", func() {
			c := &v.Content
			e.int("size", c.Size)
			e.intPtr("compression", c.Compression)
			e.string("mimeType", c.MimeType)
			if c.Text != nil {
				e.string("text", *c.Text)
			}
			e.stringIf("encoding", c.Encoding)
			e.stringIf("_charset", c.Charset)
			e.stringIf("_sha1", c.SHA1)
			e.bodyNote(&c.BodyNote)
		})
		e.string("redirectURL", v.RedirectURL)
		e.int("headersSize", v.HeadersSize)
		e.int("bodySize", v.BodySize)
		e.int("_transferSize", v.TransferSize)
		e.stringIf("_error", v.Error)
		e.headersIf("_pseudoHeaders", v.PseudoHeaders)
		if len(v.Informational) > 0 {
			e.array("_informational", len(v.Informational), func(i int) {
				e.object("", func() {
					e.int("status", int64(v.Informational[i].Status))
					e.headers("headers", v.Informational[i].Headers)
				})
			})
		}
		e.headersIf("_trailers", v.Trailers)
	})
}

func (e *encoder) bodyNote(v *BodyNote) {
	e.stringIf("_sha256", v.SHA256)
	e.boolIf("_truncated", v.Truncated)
	e.intPtr("_keptSize", v.KeptSize)
	e.stringIf("_undecoded", v.Undecoded)
	e.stringIf("_misencoded", v.Misencoded)
}

func (e *encoder) headers(name string, list []Header) {
	e.open(name, '[')
	for i := range list {
		e.open("", '{')
		e.string("name", list[i].Name)
		e.string("value", list[i].Value)
		e.stringIf("_valueBase64", list[i].ValueBase64)
		e.close('}')
	}
	e.close(']')
}

func (e *encoder) headersIf(name string, list []Header) {
	if len(list) > 0 {
		e.headers(name, list)
	}
}

func (e *encoder) cookies(list []Cookie) {
	e.array("cookies", len(list), func(i int) {
		c := &list[i]
		e.object("", func() {
			e.string("name", c.Name)
			e.string("value", c.Value)
			e.stringIf("path", c.Path)
			e.stringIf("domain", c.Domain)
			e.stringIf("expires", c.Expires)
			e.boolPtr("httpOnly", c.HTTPOnly)
			e.boolPtr("secure", c.Secure)
			e.stringIf("sameSite", c.SameSite)
		})
	})
}

func (e *encoder) params(name string, list []Param) {
	e.array(name, len(list), func(i int) {
		p := &list[i]
		e.object("", func() {
			e.string("name", p.Name)
			e.string("value", p.Value)
			e.stringIf("fileName", p.FileName)
			e.stringIf("contentType", p.ContentType)
		})
	})
}

func (e *encoder) timings(v *Timings) {
	e.object("timings", func() {
		e.millis("blocked", v.Blocked)
		e.millis("dns", v.DNS)
		e.millis("connect", v.Connect)
		e.millis("ssl", v.SSL)
		e.millis("send", v.Send)
		e.millis("wait", v.Wait)
		e.millis("receive", v.Receive)
	})
}

func (e *encoder) securityDetails(v *SecurityDetails) {
	if v == nil {
		return
	}
	e.object("_securityDetails", func() {
		e.stringIf("protocol", v.Protocol)
		e.stringIf("subjectName", v.SubjectName)
		e.stringIf("issuer", v.Issuer)
		e.intIf("validFrom", v.ValidFrom)
		e.intIf("validTo", v.ValidTo)
		e.stringIf("cipher", v.Cipher)
		e.stringIf("alpn", v.ALPN)
		e.stringIf("sni", v.SNI)
		e.strings("sanList", v.SANList)
		e.stringIf("serial", v.Serial)
		e.stringIf("sha256", v.SHA256)
		e.boolIf("resumed", v.Resumed)
		e.boolPtr("verified", v.Verified)
		e.stringIf("unverified", v.Unverified)
	})
}

func (e *encoder) clientTLS(v *ClientTLS) {
	if v == nil {
		return
	}
	e.object("_clientTLS", func() {
		e.stringIf("protocol", v.Protocol)
		e.stringIf("cipher", v.Cipher)
		e.stringIf("alpn", v.ALPN)
		e.stringIf("sni", v.SNI)
		e.boolIf("resumed", v.Resumed)
	})
}

func (e *encoder) tunnel(v *Tunnel) {
	if v == nil {
		return
	}
	e.object("_tunnel", func() {
		e.int("sent", v.Sent)
		e.int("received", v.Received)
		e.stringIf("sni", v.SNI)
		e.strings("alpn", v.ALPN)
		e.strings("tlsVersions", v.TLSVersions)
		e.stringIf("tlsVersion", v.TLSVersion)
		e.stringIf("reason", v.Reason)
	})
}

func (e *encoder) webSocket(v *WebSocket) {
	if v == nil {
		return
	}
	frames := func(name string, f *Frames) {
		e.object(name, func() {
			e.int("messages", f.Messages)
			e.int("bytes", f.Bytes)
			e.int("frames", f.Frames)
			e.int("control", f.Control)
		})
	}
	e.object("_websocket", func() {
		frames("sent", &v.Sent)
		frames("received", &v.Received)
		e.webSocketClose("close", v.Close)
		e.stringIf("subprotocol", v.Subprotocol)
		e.stringIf("extensions", v.Extensions)
		e.intPtr("recorded", v.Recorded)
	})
}

func (e *encoder) webSocketClose(name string, v *WebSocketClose) {
	if v == nil {
		return
	}
	e.object(name, func() {
		e.intIf("code", int64(v.Code))
		e.stringIf("reason", v.Reason)
		e.stringIf("by", v.By)
	})
}

func (e *encoder) webSocketMessages(list []WebSocketMessage) {
	if len(list) == 0 {
		return
	}
	e.array("_webSocketMessages", len(list), func(i int) {
		m := &list[i]
		e.object("", func() {
			e.string("type", m.Type)
			e.seconds("time", m.Time)
			e.int("opcode", int64(m.Opcode))
			e.string("data", m.Data)
			e.stringIf("encoding", m.Encoding)
			e.intPtr("_size", m.Size)
			e.boolIf("_truncated", m.Truncated)
		})
	})
}

func (e *encoder) eventSourceMessages(list []EventSourceMessage) {
	if len(list) == 0 {
		return
	}
	e.array("_eventSourceMessages", len(list), func(i int) {
		m := &list[i]
		e.object("", func() {
			e.seconds("time", m.Time)
			e.string("eventName", m.EventName)
			e.string("eventId", m.EventID)
			e.string("data", m.Data)
		})
	})
}

func (e *encoder) grpcMessages(list []GRPCMessage) {
	if len(list) == 0 {
		return
	}
	e.array("_grpcMessages", len(list), func(i int) {
		m := &list[i]
		e.object("", func() {
			e.string("type", m.Type)
			e.boolIf("compressed", m.Compressed)
			e.boolIf("trailers", m.Trailers)
			e.int("size", m.Size)
			e.string("data", m.Data)
			e.boolIf("truncated", m.Truncated)
		})
	})
}

func (e *encoder) page(v *Page) {
	e.object("", func() {
		e.string("startedDateTime", v.StartedDateTime)
		e.string("id", v.ID)
		e.string("title", v.Title)
		e.object("pageTimings", func() {
			e.millis("onContentLoad", v.PageTimings.OnContentLoad)
			e.millis("onLoad", v.PageTimings.OnLoad)
		})
	})
}

func (e *encoder) stats(v *Stats) {
	e.object("_stats", func() {
		e.int("lines", v.Lines)
		e.int("entries", v.Entries)
		e.int("open", v.Open)
		e.int("failed", v.Failed)
		e.int("refused", v.Refused)
		e.int("truncated", v.Truncated)
		e.int("undecoded", v.Undecoded)
		e.int("orphans", v.Orphans)
		e.int("lost", v.Lost)
		e.int("unreadable", v.Unreadable)
		e.intIf("filtered", v.Filtered)
	})
}
