// Plays the sessions of a plan with go-stomp, side by side, and prints what happened as JSON lines.
// Argument: the plan, a file of JSON. ../play.py tells the layout of plan and lines, and what each session does.
package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-stomp/stomp/v3"
	"github.com/go-stomp/stomp/v3/frame"
)

type plan struct {
	Address  string
	Port     int
	BeatMs   int `json:"beat_ms"`
	Sessions []asked
}

type asked struct{ Session, Login, Passcode, Version, Mode, Queue string }

type fields map[string]interface{}

var (
	writing sync.Mutex
	lines   []fields
)

type session struct {
	asked
	plan     *plan
	conn     *stomp.Conn
	messages []*stomp.Message
	times    []time.Time
}

func (s *session) note(event string, of fields) {
	at := time.Now().UnixNano()
	writing.Lock()
	defer writing.Unlock()
	lines = append(lines, fields{"session": s.Session, "at": at, "event": event, "of": of})
}

// tap is a connection whose every octet is noted before it goes out and as it comes in.
type tap struct {
	net.Conn
	session *session
}

func (t tap) Write(octets []byte) (int, error) {
	t.session.note("octets", fields{"direction": "c2s", "hex": hex.EncodeToString(octets)})
	return t.Conn.Write(octets)
}

func (t tap) Read(into []byte) (int, error) {
	count, err := t.Conn.Read(into)
	if count > 0 {
		t.session.note("octets", fields{"direction": "s2c", "hex": hex.EncodeToString(into[:count])})
	}
	return count, err
}

func ends(address net.Addr) []interface{} {
	tcp := address.(*net.TCPAddr)
	return []interface{}{tcp.IP.String(), tcp.Port}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *session) connect() {
	inner, err := net.Dial("tcp", fmt.Sprintf("%s:%d", s.plan.Address, s.plan.Port))
	must(err)
	s.note("open", fields{"local": ends(inner.LocalAddr()), "remote": ends(inner.RemoteAddr())})
	options := []func(*stomp.Conn) error{stomp.ConnOpt.Login(s.Login, s.Passcode), stomp.ConnOpt.Host("/")}
	if s.Version == "1.0" {
		options = append(options, stomp.ConnOpt.AcceptVersion(stomp.V10), stomp.ConnOpt.HeartBeat(0, 0))
	} else {
		beat := time.Duration(s.plan.BeatMs) * time.Millisecond
		// What the library takes off the interval when it writes, five seconds by default, must be less than the interval.
		options = append(options, stomp.ConnOpt.HeartBeat(beat, beat), stomp.ConnOpt.HeartBeatError(beat/5),
			stomp.ConnOpt.HeartBeatGracePeriodMultiplier(3))
		// In 1.2 the library's own offer stands: all it knows.
		if s.Version == "1.1" {
			options = append(options, stomp.ConnOpt.AcceptVersion(stomp.V11))
		}
	}
	s.conn, err = stomp.Connect(tap{inner, s}, options...)
	must(err)
}

// receive takes messages until `count` have come; false after the time.
func (s *session) receive(from *stomp.Subscription, count int, patience time.Duration) bool {
	timer := time.After(patience)
	for len(s.messages) < count {
		select {
		case message := <-from.C:
			must(message.Err)
			s.note("message", fields{"message_id": message.Header.Get(frame.MessageId)})
			s.messages, s.times = append(s.messages, message), append(s.times, time.Now())
		case <-timer:
			return false
		}
	}
	return true
}

func (s *session) settle(word string, number int, also []int, delayMs int, within *stomp.Transaction) {
	time.Sleep(time.Until(s.times[number].Add(time.Duration(delayMs) * time.Millisecond)))
	of := fields{"word": word, "messages": append([]int{number}, also...), "delay_ms": delayMs, "transaction": nil}
	act := s.conn.Ack
	if word == "NACK" {
		act = s.conn.Nack
	}
	if within != nil {
		of["transaction"], act = within.Id(), within.Ack
	}
	s.note("settle", of)
	must(act(s.messages[number]))
}

func (s *session) begin() *stomp.Transaction {
	s.note("transaction", fields{"command": "BEGIN", "transaction": nil})
	made, err := s.conn.BeginWithError()
	must(err)
	return made
}

func (s *session) end(unit *stomp.Transaction, command string) {
	s.note("transaction", fields{"command": command, "transaction": unit.Id()})
	if command == "COMMIT" {
		must(unit.CommitWithReceipt())
	} else {
		must(unit.AbortWithReceipt())
	}
}

func (s *session) play() {
	s.connect()
	modes := map[string]stomp.AckMode{"auto": stomp.AckAuto, "client": stomp.AckClient, "client-individual": stomp.AckClientIndividual}
	subscription, err := s.conn.Subscribe(s.Queue, modes[s.Mode])
	must(err)
	kind := "text/plain;charset=utf-8"
	for number := 0; number < 3; number++ {
		must(s.conn.Send(s.Queue, kind, []byte(fmt.Sprintf("library %d: ½ €", number)), stomp.SendOpt.Header("kind", "número")))
	}
	must(s.conn.Send(s.Queue, kind, []byte("library 3"), stomp.SendOpt.Header("note", "a:b\\c"), stomp.SendOpt.Receipt))
	unit := s.begin()
	must(unit.Send(s.Queue, kind, []byte("in a unit")))
	s.end(unit, "COMMIT")
	never := s.begin()
	must(never.Send(s.Queue, kind, []byte("never")))
	s.end(never, "ABORT")
	if !s.receive(subscription, 5, 20*time.Second) {
		panic(fmt.Sprintf("%d of 5 messages came", len(s.messages)))
	}
	switch s.Mode {
	case "client":
		s.settle("ACK", 1, []int{0}, 40, nil)
		s.settle("ACK", 4, []int{2, 3}, 90, nil)
	case "client-individual":
		s.settle("ACK", 2, nil, 40, nil)
		acking := s.begin()
		s.settle("ACK", 0, nil, 70, acking)
		s.end(acking, "COMMIT")
		s.settle("NACK", 3, nil, 100, nil)
		s.settle("ACK", 1, nil, 130, nil)
		s.settle("ACK", 4, nil, 160, nil)
		for number := 5; s.receive(subscription, number+1, 400*time.Millisecond); number++ {
			s.settle("ACK", number, nil, 30, nil)
		}
	}
	if s.Version != "1.0" {
		time.Sleep(time.Duration(s.plan.BeatMs) * time.Millisecond * 22 / 10)
	}
	// Where the RECEIPT comes before go-stomp 3.1.3 waits for it, it misses that and says after 30 s that none came.
	if err := subscription.Unsubscribe(); !errors.Is(err, &stomp.ErrUnsubscribeReceiptTimeout) {
		must(err)
	}
	must(s.conn.Disconnect())
	s.note("end", fields{})
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	must(err)
	var all plan
	must(json.Unmarshal(text, &all))
	var playing sync.WaitGroup
	for _, one := range all.Sessions {
		playing.Add(1)
		go func(one asked) {
			defer playing.Done()
			defer func() {
				if wrong := recover(); wrong != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", one.Session, wrong)
					os.Exit(1)
				}
			}()
			(&session{asked: one, plan: &all}).play()
		}(one)
	}
	playing.Wait()
	writer := json.NewEncoder(os.Stdout)
	for _, line := range lines {
		must(writer.Encode(line))
	}
}
