window.classic = document.readyState
