// Package secure says who is who between hosts: certificates that an authority of the cluster, or of a job, has issued, and the TLS 1.3
// by which both sides show theirs.
//
// The duties of the side that issues, in order:
//
//  1. NewAuthority draws a key that stays in the memory of this process. What it issues is as good as the process.
//  2. Issue gives a public key that came over a channel which is known by other means (a token, a pipe) a certificate with a name. It is short-lived.
//
// The duties of each other side:
//
//  1. NewIdentity draws a key; Public is its public half, to be certified.
//  2. Hold takes the certificate, and each later one before the one in use runs out: Due says when.
//  3. Server and Client are the configurations of its connections. Client refuses whoever it does not want in the handshake. Server lets
//     everybody finish that, so that a refusal can be told in words: its caller asks Peer who has come before it reads anything else.
//
// Who has a Token and no certificate yet uses Pinned, which trusts the one authority that the token names.
//
// The package refuses names of hosts and addresses, which say nothing about who a process is, versions below TLS 1.3, and resumed
// sessions, which would outlive a certificate. It opens no connection.
package secure
