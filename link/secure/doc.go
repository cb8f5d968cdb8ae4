// Package secure issues certificates and opens TLS connections with them, so that processes on different hosts
// identify each other. A cluster or a job has an authority that issues them; both sides of a connection show theirs
// over TLS 1.3.
//
// The duties of the side that issues, in order:
//
//  1. NewAuthority draws a key that stays in the memory of this process. Its certificates are as trustworthy as the process.
//  2. Issue returns a certificate with a name for a public key. The key must come over a channel whose other end is known
//     by other means (a token, a pipe). The certificate is short-lived.
//
// The duties of each other side:
//
//  1. NewIdentity draws a key; Public returns its public half, to be certified.
//  2. Hold takes the certificate, and each later one before the current one expires: Due returns when.
//  3. Server and Client return the configurations of its connections. Client refuses an unwanted peer in the handshake.
//     Server lets every caller finish the handshake, so that a refusal can be sent in words: its caller checks Peer before
//     it reads anything else.
//
// A process with a Token and no certificate yet uses Pinned, which trusts only the authority that the token names.
//
// The package refuses names of hosts and addresses, which do not identify a process, versions below TLS 1.3, and
// resumed sessions, which would outlive a certificate. It opens no connection.
package secure
