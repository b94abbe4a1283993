package waiver

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// A signature is an SSHSIG blob, as PROTOCOL.sshsig of OpenSSH has it, version 1.
type signature struct {
	key       ssh.PublicKey
	namespace string
	hash      string
	reserved  string
	of        ssh.Signature
}

// Armor of a signature.
const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----"
	armorEnd   = "-----END SSH SIGNATURE-----"
)

const sshsigMagic = "SSHSIG"

// keyTypes that may approve. DSA and RSA with SHA-1 are broken; keys on security
// tokens sign what says how they were touched, which this does not check.
func keyTypes() []string {
	return []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA}
}

// signed is the wire form of what is signed (section 3 of PROTOCOL.sshsig).
type signed struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    []byte
}

// parseSignature reads an armored signature.
func parseSignature(armored string) (signature, error) {
	body, ok := strings.CutPrefix(strings.TrimSpace(armored), armorBegin)
	if ok {
		body, ok = strings.CutSuffix(body, armorEnd)
	}
	if !ok {
		return signature{}, fmt.Errorf("it is not between %s and %s", armorBegin, armorEnd)
	}
	blob, err := base64.StdEncoding.Strict().DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil {
		return signature{}, errors.New("it is no base64")
	}
	rest, ok := strings.CutPrefix(string(blob), sshsigMagic)
	if !ok {
		return signature{}, errors.New("it is no SSH signature")
	}
	var wire struct {
		Version   uint32
		Key       []byte
		Namespace string
		Reserved  string
		Hash      string
		Signature []byte
	}
	if err := ssh.Unmarshal([]byte(rest), &wire); err != nil {
		return signature{}, errors.New("it is no whole SSH signature")
	}
	if wire.Version != 1 {
		return signature{}, fmt.Errorf("it is an SSH signature of version %d, and 1 is known", wire.Version)
	}
	s := signature{namespace: wire.Namespace, hash: wire.Hash, reserved: wire.Reserved}
	if s.key, err = ssh.ParsePublicKey(wire.Key); err != nil {
		return signature{}, errors.New("its key cannot be read")
	}
	if !slices.Contains(keyTypes(), s.key.Type()) {
		return signature{}, fmt.Errorf("it is by a key of type %q; ed25519, ecdsa and rsa keys can approve", s.key.Type())
	}
	if err := ssh.Unmarshal(wire.Signature, &s.of); err != nil {
		return signature{}, errors.New("it is no whole SSH signature")
	}
	if len(s.of.Rest) > 0 {
		return signature{}, errors.New("it has more than a signature")
	}
	return s, nil
}

// verify says whether the signature is one of a message, by its own key.
func (s signature) verify(message string) error {
	var digest []byte
	switch s.hash {
	case "sha256":
		sum := sha256.Sum256([]byte(message))
		digest = sum[:]
	case "sha512":
		sum := sha512.Sum512([]byte(message))
		digest = sum[:]
	default:
		return fmt.Errorf("its hash is %q; sha256 and sha512 are known", s.hash)
	}
	// RSA keys have several algorithms, and SHA-1 is not among those of SSHSIG.
	if s.key.Type() == ssh.KeyAlgoRSA && s.of.Format != ssh.KeyAlgoRSASHA256 && s.of.Format != ssh.KeyAlgoRSASHA512 {
		return fmt.Errorf("it is signed as %q; an RSA key signs as rsa-sha2-256 or rsa-sha2-512", s.of.Format)
	}
	data := append([]byte(sshsigMagic), ssh.Marshal(signed{s.namespace, s.reserved, s.hash, digest})...)
	if err := s.key.Verify(data, &s.of); err != nil {
		return errors.New("it is of another text, or it was changed")
	}
	return nil
}
