package h2

import (
	"time"

	"golang.org/x/net/http2"
)

// settings takes the peer's SETTINGS, or its acknowledgement of ours.
func (c *Conn) settings(f *http2.SettingsFrame) error {
	peer, err := c.settle(f)
	if err == nil && !f.IsAck() && c.cfg.Settings != nil {
		c.cfg.Settings(peer)
	}
	return err
}

func (c *Conn) settle(f *http2.SettingsFrame) (Settings, error) {
	c.mu.Lock()
	defer c.unlock()
	if f.IsAck() && c.acknowledged() {
		return c.peer, nil
	}
	if err := c.spend(); err != nil || f.IsAck() {
		return c.peer, err
	}
	if err := c.control(); err != nil {
		return c.peer, err
	}
	// In the order of the frame (RFC 9113 §6.5.3), before the acknowledgement: what
	// is sent behind that is held to them.
	if err := f.ForeachSetting(c.apply); err != nil {
		return c.peer, err
	}
	c.framer.WriteSettingsAck()
	c.settled = true
	c.awaitAck()
	c.writer.Signal()
	c.openNext()
	c.pump()
	return c.peer, nil
}

// acknowledged takes the peer's word that it goes by the first SETTINGS that it had
// not acknowledged; false: there are none.
func (c *Conn) acknowledged() bool {
	if !c.writing || c.unheard == 0 {
		return false
	}
	c.heard = true
	c.unheard--
	if c.hearing != nil {
		c.hearing.Stop()
		c.hearing = nil
	}
	c.awaitAck()
	return true
}

// awaitAck starts the time within which the peer, which has begun to speak, has to
// acknowledge our SETTINGS.
func (c *Conn) awaitAck() {
	if c.cfg.Timeouts.Settings == 0 || !c.settled || !c.writing || c.unheard == 0 || c.hearing != nil || c.err != nil {
		return
	}
	c.hearBy = time.Now().Add(c.cfg.Timeouts.Settings)
	c.hearing = time.AfterFunc(c.cfg.Timeouts.Settings, c.unacknowledged)
}

func (c *Conn) unacknowledged() {
	c.mu.Lock()
	defer c.unlock()
	if c.hearing != nil && !time.Now().Before(c.hearBy) { // else it is another one by now
		c.endLocked(lateError(http2.ErrCodeSettingsTimeout, "the SETTINGS are not acknowledged"))
	}
}

// apply takes one setting. What can't be is RFC 9113 §6.5.2's, RFC 8441 §3's or
// RFC 9218 §2.1's error.
func (c *Conn) apply(s http2.Setting) error {
	p := &c.peer
	bad := func() error { return connError(http2.ErrCodeProtocol, "the setting "+s.String()) }
	switch s.ID {
	case http2.SettingHeaderTableSize:
		if s.Val != p.tableSize {
			p.tableSize = s.Val
			c.encoder.SetMaxDynamicTableSize(s.Val)
		}
	case http2.SettingEnablePush:
		if s.Val > 1 || s.Val == 1 && !c.server {
			return bad()
		}
	case http2.SettingMaxConcurrentStreams:
		p.MaxStreams = s.Val
	case http2.SettingInitialWindowSize:
		if s.Val > maxWindow {
			return connError(http2.ErrCodeFlowControl, "the setting "+s.String())
		}
		return c.moveWindows(int64(s.Val))
	case http2.SettingMaxFrameSize:
		if s.Val < frameSize || s.Val > 1<<24-1 {
			return bad()
		}
		p.frame = frameSize // larger ones would only hold others up
	case http2.SettingMaxHeaderListSize:
		p.MaxHeaderList = s.Val
	case http2.SettingEnableConnectProtocol:
		if s.Val > 1 || s.Val == 0 && p.Connect {
			return bad()
		}
		p.Connect = s.Val == 1
	case http2.SettingNoRFC7540Priorities:
		if s.Val > 1 {
			return bad()
		}
		p.NoPriorities = s.Val == 1
	}
	return nil
}

// moveWindows changes every stream's room to send by what a new stream's has
// changed by (RFC 9113 §6.9.2), be it below zero.
func (c *Conn) moveWindows(size int64) error {
	more := size - c.peer.window
	c.peer.window = size
	for _, s := range c.streams {
		if s.credit += more; s.credit > maxWindow {
			return connError(http2.ErrCodeFlowControl, "a stream's window beyond the largest")
		}
		s.queue()
	}
	return nil
}

// Offer tells a browser what it may do: at first, before which nothing is sent to
// it, and again when that has changed.
func (c *Conn) Offer(o Offer) {
	c.mu.Lock()
	defer c.unlock()
	if c.err != nil {
		return
	}
	if !c.writing {
		c.begin(o)
		return
	}
	var changed []http2.Setting
	if o.MaxStreams != c.offer.MaxStreams {
		c.offer.MaxStreams = o.MaxStreams
		changed = append(changed, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: o.MaxStreams})
	}
	if o.Connect && !c.offer.Connect {
		c.offer.Connect = true
		changed = append(changed, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	}
	if changed != nil {
		c.framer.WriteSettings(changed...)
		c.unheard++
		c.awaitAck()
		c.writer.Signal()
	}
}

// begin makes the first SETTINGS the first of what is sent.
func (c *Conn) begin(o Offer) {
	c.offer = o
	list := uint32(c.cfg.MaxHeaderList)
	if o.MaxHeaderList > 0 {
		list = min(list, o.MaxHeaderList)
	}
	settings := []http2.Setting{
		{ID: http2.SettingMaxConcurrentStreams, Val: o.MaxStreams},
		{ID: http2.SettingInitialWindowSize, Val: uint32(c.cfg.StreamWindow)},
		{ID: http2.SettingMaxHeaderListSize, Val: list},
	}
	if o.Connect {
		settings = append(settings, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	}
	if o.NoPriorities {
		settings = append(settings, http2.Setting{ID: http2.SettingNoRFC7540Priorities, Val: 1})
	}
	waiting := c.out
	c.out = nil
	c.framer.WriteSettings(settings...)
	c.widen()
	c.out = append(c.out, waiting...)
	c.writing = true
	c.unheard++
	c.awaitAck()
	c.writer.Signal()
}
