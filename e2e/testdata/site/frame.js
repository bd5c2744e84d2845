window.framed = true
