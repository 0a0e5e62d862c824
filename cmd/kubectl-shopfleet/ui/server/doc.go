// Package server serves the page of kubectl shopfleet ui to the user's browser.
//
// # Purpose
//
// A Server answers requests for screens, for their parts as a stream while the fleet changes, and for assets. It admits
// the browser that opens the address with the token, and no other.
//
// # Non-goals
//
// Nothing can be changed through it: only GET is answered. It is not to be reached from other machines: it admits requests
// that name a loopback address only.
//
// # Trade-offs
//
//   - The token of the printed address is good once: a shell's history, or a screenshot of the address, opens nothing. A
//     cookie replaces it. Browsers send cookies of an address to each of its ports, thus also to the server of another user
//     of the machine that the user is led to. Therefore the cookie is for a path that is random: only requests for that path
//     have it. A host name that is random would do the same, but not every browser finds names below localhost.
//   - The answer to the token is a page that leads on, and not a redirect: a browser that followed a link from elsewhere
//     would not send the cookie along with a redirect.
//   - A stream is one message a second at most. It has the time, which shows that the page is live, and the view if it
//     differs from what was sent last. Hidden tabs close their streams, of which a browser has six for one server.
//   - A view is sent whole, and only that of the screen that is open. With 500 members and 2,000 shops, of which one region
//     does not answer, a message has 11 KiB of Needs you, 263 of Regions, 119 of Moving and 159 of Why while ages grow by the
//     second, and less than 1 otherwise. To send the rows that differ would save little, because the first page has the worst,
//     whose ages grow; and nothing leaves the machine. TestLargeStream counts it.
package server
