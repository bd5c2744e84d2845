package netlog

// Line is one line of the log. At most one of the parts is set: that of its
// event, and none when the event is one that this package does not know. Its JSON is
// what [AppendLine] writes and [ParseLine] reads; encoding/json's is another.
type Line struct {
	Head
	Start   *Start
	Open    *Open
	Answer  *Answer
	Message *Message
	End     *End
}
