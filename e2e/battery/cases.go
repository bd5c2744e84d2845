package battery

import "slices"

// Cases are all of the battery, grouped.
func Cases() []Case {
	return slices.Concat(
		refusedHeads(), refusedTargets(), refusedHosts(), badChunks(), longHeads(),
		requests(), targets(), hosts(), otherNames(),
		answers(), informational(), early(),
		breaks(), reused(), upgrades(), connects(), timeLimits(), own(), streams(),
		refusedFrames(), brokenFrames(), passingFrames(), framesThatEnd(), frameLimits(),
	)
}

// ok is an answer that needs no looking at.
const (
	ok     = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
	okBody = "fine"
)

const host = "Host: origin.test\r\n"

// get is a request that needs no looking at, as it is sent and as it goes up.
const (
	get   = "GET {u}/ HTTP/1.1\r\n" + host + "\r\n"
	getUp = "GET / HTTP/1.1\r\n" + host + "\r\n"
)

// got is the entry of get.
func got() entry { return entry{method: "GET", url: "{o}/", status: 200, received: okBody} }

// A passing is a request that is passed on, answered and recorded.
type passing struct {
	name   string
	legs   Leg
	send   string
	gets   string
	answer string // "": ok
	sees   string // "": answer
	log    entry
	then   func(*talk) // what comes behind it, if anything
}

func passings(group string, list []passing) []Case {
	var cases []Case
	for _, p := range list {
		if p.answer == "" {
			p.answer = ok
			if p.log.received == "" {
				p.log.received = okBody
			}
		}
		if p.sees == "" {
			p.sees = p.answer
		}
		if p.log.status == 0 {
			p.log.status = 200
		}
		cases = append(cases, Case{
			Group: group, Name: p.name, Legs: p.legs,
			talk: func(t *talk) {
				t.send(p.send)
				t.gets(p.gets)
				t.answer(p.answer)
				t.sees(p.sees)
				if p.then != nil {
					p.then(t)
				}
			},
			log: []entry{p.log},
		})
	}
	return cases
}

// again is one more exchange on both connections, to show that they are in step.
func (t *talk) again() {
	t.send(get)
	t.gets(getUp)
	t.answer(ok)
	t.sees(ok)
}
