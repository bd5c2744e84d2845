// Package pcap reads what captures hold: their packets as flows, and of the flows
// what can be seen in the clear, the names of TLS ClientHellos and the request
// lines of HTTP/1.
//
// [Summarize] takes the files of a ring in any order and reads them in that in
// which they were captured. They are classic pcap of either byte order, in micro-
// or nanoseconds, or pcapng; of the link types EN10MB, LINUX_SLL, LINUX_SLL2 (what
// tcpdump writes of all interfaces), RAW, NULL and LOOP. A file may be one that is
// being written, or was cut in the middle of a packet.
//
// Each direction of a TCP connection is put in order by its sequence numbers;
// what was not captured is passed over. Nothing is decrypted, IP fragments are
// not put together, and of HTTP/2 and QUIC only the flows are told.
//
// Memory is bounded by [MaxFlows] and [MaxRequests], not by the files.
package pcap
