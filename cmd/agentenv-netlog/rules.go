package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/proxy"
)

// ruleFlags are the flags that say what may be reached, and what of it is
// decrypted.
type ruleFlags struct {
	tunnel, allow, deny []string
	denyPrivate         bool
	tunnelOnPin         bool
}

func (f *ruleFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.tunnel, "tunnel", nil, "relay this `HOST` undecrypted: NAME, *.NAME (any depth below it), an address or a range (10.0.0.0/8), with :PORT if only one is meant (repeatable)")
	flags.BoolVar(&f.tunnelOnPin, "tunnel-on-pin", false, "relay a host undecrypted once a browser has refused the certificate for it; a browser that does not trust the authority then goes unrecorded")
	flags.StringSliceVar(&f.allow, "allow-host", nil, "refuse every host but this `HOST`, written as for --tunnel; a name is allowed by its name (repeatable)")
	flags.StringSliceVar(&f.deny, "deny-host", nil, "refuse this `HOST`, written likewise, and what resolves to it; it wins over --allow-host (repeatable)")
	flags.BoolVar(&f.denyPrivate, "deny-private", false, "refuse addresses that are not of the public internet (loopback, private, link-local, clouds' metadata), also when a name resolves to one")
}

// configure makes c as the flags say.
func (f *ruleFlags) configure(c *proxy.Config) (err error) {
	rules := proxy.Rules{DenyPrivate: f.denyPrivate}
	if rules.Tunnel, err = parseHostFlag("--tunnel", f.tunnel); err != nil {
		return err
	}
	if rules.Allow, err = parseHostFlag("--allow-host", f.allow); err != nil {
		return err
	}
	if rules.Deny, err = parseHostFlag("--deny-host", f.deny); err != nil {
		return err
	}
	c.Policy, c.TunnelOnPin = rules.Decide, f.tunnelOnPin
	return nil
}

func parseHostFlag(flag string, list []string) ([]proxy.HostRule, error) {
	if err := notEmpty(flag, list); err != nil {
		return nil, err
	}
	var rules []proxy.HostRule
	for _, s := range list {
		r, err := proxy.ParseHostRule(s)
		if err != nil {
			return nil, misused(fmt.Errorf("%s %q: %w", flag, s, err),
				"write a name, *.name, an address or a range, each with :port if only one is meant: example.com, *.example.com:443, [::1]:8443, 10.0.0.0/8")
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// notEmpty refuses a flag that was given with nothing, such as a variable that is not
// set: it would be as if it were not there. pflag then has a list of no items, and
// none at all when the flag was not given.
func notEmpty(flag string, list []string) error {
	if list != nil && len(list) == 0 {
		return misused(fmt.Errorf("%s is empty", flag), "give it a value, or leave it out")
	}
	return nil
}
