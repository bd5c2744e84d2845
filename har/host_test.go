package har

import "testing"

// What new URL of Node and Chromium says of each as a host.
func TestValidHost(t *testing.T) {
	for _, host := range []string{
		"h", "shop.example", "SHOP.example.", "a..b", ".", "-a-", "ab--cd", "a_b", "a~!$&'()*+,;=b", "é", "straße.example", "漢字。example", "😀", "xn--ls8h", "XN--LS8H.example", "ｅxample",
		"127.0.0.1", "1.2.3.4.", "0x7f.1", "0X7F.0.0.1", "010.0.0.1", "4294967295", "0x", "1.16777215", "1.2.65535", "1.2.3.0xff", "1.2.3.4.a", "08.a", "a1", "0x1g", "1e1",
		"العربية.example", "a.1é", "١",
	} {
		if !validHost(host) {
			t.Errorf("%q is none", host)
		}
	}
	for _, host := range []string{
		"", " ", "a b", "a\x00", "a\x7f", "a%", "a/b", "a:1", "a@b", "[::1]", "a|b", "a^b", "\xff", "a\xff.example", "\u200d", "\u00ad", "xn--", "xn--.", "a.xn--", "xn--é", "xn--a",
		"999.0.0.1", "256.1.1.1", "1.2.3.256", "1.2.3.4.5", "4294967296", "08", "1.2.3.08", "a.1", "a.0x1", "1..2", "..1", "1.16777216", "1.2.65536", "1.0b1.1.1", "1_0.1", "１.256.256.256.256",
	} {
		if validHost(host) {
			t.Errorf("%q is one", host)
		}
	}
}
