"""Long questions for generate.py: two or three facts and a question, each in several wordings.

A topic is {slots, facts, ask, other}. A fact is a list of wordings; one behind "!" says the contrary. Right pairs change
wordings, order or courtesy; wrong ones change one slot, one fact to its contrary, or the question.
"""

TOPICS = [
    {
        "slots": {"city": ["Denver", "Austin", "Boston"], "rent": ["900", "1,250", "1,600"], "months": ["two", "five", "seven"], "pet": ["cat", "dog", "parrot"]},
        "facts": [
            ["I rent a flat in {city} for {rent} a month", "I'm a tenant in {city} and pay {rent} every month", "My rent for a flat in {city} is {rent} monthly"],
            ["my lease runs for another {months} months", "there are {months} months left on my contract"],
            ["the landlord knows that I keep a {pet}", "I have a {pet} and told the landlord about it", "!the landlord doesn't know that I keep a {pet}"],
        ],
        "ask": ["Can he raise the rent before the lease ends?", "is he allowed to ask for more rent before the end of the contract", "May the rent be increased while the lease is still running?"],
        "other": ["Can he throw me out before the lease ends?", "How do I get my deposit back when I leave?"],
    },
    {
        "slots": {"car": ["Honda Civic", "Ford Focus", "Mazda 3"], "miles": ["40,000", "85,000", "130,000"], "side": ["front", "rear"], "noise": ["squeaks", "grinds", "rattles"]},
        "facts": [
            ["My {car} has {miles} miles on it", "I drive a {car} with {miles} miles", "I've got a {car} that has done {miles} miles"],
            ["the {side} left wheel {noise} when I brake", "there's a noise at the {side} left wheel, it {noise} under braking"],
            ["the pads were changed last year", "I had new brake pads put in last year", "!the pads have never been changed"],
        ],
        "ask": ["What should I check first?", "what would you look at first", "Which part should I inspect first?"],
        "other": ["How much will the repair cost?", "Is it safe to drive it to the shop?"],
    },
    {
        "slots": {"age": ["34", "47", "61"], "pill": ["lisinopril", "metformin", "warfarin"], "drink": ["grapefruit juice", "coffee", "red wine"], "weeks": ["two", "six"]},
        "facts": [
            ["I'm {age} and take {pill} every morning", "At {age} I'm on {pill}, one tablet each morning"],
            ["I started with it {weeks} weeks ago", "I've been taking it for {weeks} weeks"],
            ["I feel fine so far", "so far I've had no problems", "!I've felt dizzy since then"],
        ],
        "ask": ["May I have {drink} with it?", "Is {drink} okay while I'm taking it?", "can I drink {drink} on that medicine"],
        "other": ["What happens if I forget a tablet?", "Can I take it in the evening instead?"],
    },
    {
        "slots": {"lang": ["Python", "Ruby", "Go"], "rows": ["20 thousand", "5 million"], "db": ["Postgres", "MySQL", "SQLite"], "col": ["email", "created date", "country"]},
        "facts": [
            ["I have a {lang} script that reads {rows} rows from {db}", "My {lang} program loads {rows} rows out of a {db} database"],
            ["it sorts them by the {col} column", "the rows get sorted by {col}"],
            ["there is an index on that column", "that column is indexed", "!there is no index on that column"],
        ],
        "ask": ["Why does it take so long and how can I make it faster?", "what makes it slow and how do I speed it up", "How do I find out why it's slow and make it quicker?"],
        "other": ["How do I write the result to a CSV file?", "How do I run it every night?"],
    },
    {
        "slots": {"air": ["Lufthansa", "Delta", "Ryanair"], "from": ["Rome", "Dublin", "Prague"], "to": ["Lisbon", "Athens", "Oslo"], "hours": ["three", "four", "nine"]},
        "facts": [
            ["I flew from {from} to {to} with {air} last Monday", "Last Monday I had a {air} flight from {from} to {to}"],
            ["we arrived {hours} hours late", "the plane landed with a delay of {hours} hours"],
            ["they said it was a technical problem", "the reason they gave was a technical fault", "!they said it was because of a storm"],
        ],
        "ask": ["Do I get compensation, and how much?", "am I entitled to compensation and what's the amount", "How much compensation can I claim?"],
        "other": ["Where do I complain about the staff?", "Can I still collect miles for the flight?"],
    },
    {
        "slots": {"plant": ["monstera", "ficus", "orchid"], "room": ["north", "south"], "days": ["three", "ten"], "leaf": ["yellow", "brown", "black"]},
        "facts": [
            ["My {plant} stands at a {room} window", "I keep a {plant} by a window that faces {room}"],
            ["I water it every {days} days", "it gets water once in {days} days"],
            ["the lower leaves turn {leaf}", "its lower leaves have gone {leaf}"],
        ],
        "ask": ["What am I doing wrong?", "what's the mistake", "What could be the cause and what should I change?"],
        "other": ["When should I repot it?", "Which fertiliser should I use?"],
    },
    {
        "slots": {"role": ["nurse", "teacher", "accountant"], "years": ["three", "eight"], "boss": ["raise", "promotion"], "per": ["5", "12"]},
        "facts": [
            ["I've worked as a {role} at the same place for {years} years", "For {years} years I've been a {role} with one employer"],
            ["a colleague who does the same work earns {per} percent more", "someone in the same job gets {per} % more than me"],
            ["my last review was very good", "I had an excellent review last time", "!my last review was rather bad"],
        ],
        "ask": ["How do I ask my manager for a {boss} without sounding greedy?", "What's a tactful way to ask my boss for a {boss}?"],
        "other": ["How do I resign without burning bridges?", "Should I tell my colleague that I know?"],
    },
    {
        "slots": {"cake": ["sponge cake", "cheesecake", "banana bread"], "deg": ["160", "180", "200"], "min": ["30", "45", "60"], "form": ["glass", "metal", "silicone"]},
        "facts": [
            ["I baked a {cake} at {deg} degrees for {min} minutes", "My {cake} was in the oven for {min} minutes at {deg} degrees"],
            ["I used a {form} tin", "the tin was made of {form}"],
            ["it collapsed in the middle when it cooled", "as it cooled down the middle sank", "!it came out dry and hard"],
        ],
        "ask": ["What went wrong?", "why did that happen and how do I avoid it", "What did I do wrong and what should I do next time?"],
        "other": ["How do I store what's left?", "Can I freeze it?"],
    },
    {
        "slots": {"phone": ["Pixel 7", "iPhone 13", "Galaxy S22"], "app": ["WhatsApp", "Signal", "Telegram"], "new": ["iPhone 15", "Pixel 9"], "gb": ["64", "128", "256"]},
        "facts": [
            ["I'm switching from a {phone} to a new {new} with {gb} GB", "I bought a {new} with {gb} GB to replace my {phone}"],
            ["the old phone still works", "my old one is still working", "!the screen of the old phone is dead"],
            ["all my {app} chats are on the old one", "the {app} chats are all on the old phone"],
        ],
        "ask": ["How do I move the chats with the photos?", "what's the way to transfer the chats, pictures included", "How can I take the chats and their photos with me?"],
        "other": ["How do I wipe the old phone before I sell it?", "How do I move my contacts?"],
    },
    {
        "slots": {"kid": ["daughter", "son"], "age": ["four", "nine", "fifteen"], "subject": ["maths", "reading", "French"], "times": ["twice", "once"]},
        "facts": [
            ["My {kid} is {age} and has trouble with {subject}", "I have a {age} year old {kid} who finds {subject} hard"],
            ["we practise {times} a week at home", "at home we do exercises {times} a week"],
            ["the teacher says it's nothing serious", "according to the teacher it is nothing to worry about", "!the teacher is very worried"],
        ],
        "ask": ["Which games could help?", "what games would make it easier", "Can you suggest games that help with it?"],
        "other": ["Should we hire a tutor?", "How do I talk to the teacher about it?"],
    },
    {
        "slots": {"country": ["Germany", "Canada", "Japan"], "visa": ["student visa", "work permit", "tourist visa"], "weeks": ["four", "ten"], "home": ["Brazil", "India", "Turkey"]},
        "facts": [
            ["I'm from {home} and have a {visa} for {country}", "I hold a {visa} for {country} and come from {home}"],
            ["it expires in {weeks} weeks", "there are {weeks} weeks left until it runs out"],
            ["my application for an extension is still open", "I've applied for an extension and haven't heard back", "!I haven't applied for an extension yet"],
        ],
        "ask": ["Am I allowed to travel home for a week and come back?", "Can I leave for a week to see my family and return?", "may I go home for a week and enter again"],
        "other": ["Am I allowed to look for another job?", "Can my wife join me?"],
    },
    {
        "slots": {"bike": ["gravel bike", "mountain bike", "city bike"], "cm": ["165", "178", "192"], "eur": ["600", "1,500", "3,000"], "km": ["10", "40"]},
        "facts": [
            ["I'm {cm} cm tall and looking for a {bike}", "I want to buy a {bike} and I'm {cm} cm tall"],
            ["I ride about {km} km a day", "my daily ride is around {km} km"],
            ["my budget is {eur} euros", "I can spend up to {eur} euros"],
        ],
        "ask": ["Which frame size and which brakes do you recommend?", "what frame size and what kind of brakes should I choose"],
        "other": ["Which lock do you recommend?", "Where do I find a good used one?"],
    },
    {
        "slots": {"sys": ["Ubuntu", "Windows 11", "macOS"], "dev": ["printer", "scanner", "webcam"], "brand": ["HP", "Epson", "Canon"], "err": ["0x01", "E12"]},
        "facts": [
            ["Since the last update of {sys} my {brand} {dev} is gone", "My {brand} {dev} has vanished since I updated {sys}"],
            ["it worked on the same computer before", "before that it worked with this computer", "!it never worked with this computer"],
            ["it shows the error {err}", "there's an error {err} on it"],
        ],
        "ask": ["How do I get it to work again?", "what can I do so that it works again", "How can I fix this?"],
        "other": ["How do I undo the update?", "Where can I have it repaired under warranty?"],
    },
    {
        "slots": {"shop": ["a lamp", "a coat", "a blender"], "day": ["Monday", "Thursday"], "sum": ["39", "120"], "pay": ["PayPal", "credit card", "gift card"]},
        "facts": [
            ["I ordered {shop} from your shop on {day} for {sum} dollars", "On {day} I bought {shop} in your shop, it was {sum} dollars"],
            ["I paid by {pay}", "the payment was made with {pay}"],
            ["it arrived broken", "when it came it was damaged", "!it never arrived"],
        ],
        "ask": ["How do I get my money back?", "what do I have to do for a refund", "Can you tell me how I get a refund?"],
        "other": ["Can I exchange it for another colour?", "How do I change the delivery address next time?"],
    },
    {
        "slots": {"team": ["marketing", "sales", "support"], "n": ["four", "nine"], "tool": ["Slack", "Teams", "Zoom"], "zone": ["Berlin", "Sydney"]},
        "facts": [
            ["I lead a {team} team of {n} people", "there are {n} people in the {team} team that I lead"],
            ["two of them work from {zone}", "two members are in {zone}"],
            ["we meet over {tool} every day", "our daily meeting is on {tool}", "!we never meet as a team"],
        ],
        "ask": ["How can I make the meetings shorter and more useful?", "what would make our meetings shorter and better", "Ideas to keep meetings short and useful?"],
        "other": ["How do I welcome a new team member?", "How do I give feedback to a difficult colleague?"],
    },
    {
        "slots": {"run": ["5k", "10k", "marathon"], "wk": ["six", "twelve"], "knee": ["knee", "ankle", "hip"], "per": ["two", "four"]},
        "facts": [
            ["I want to run a {run} in {wk} weeks", "In {wk} weeks I'm going to run a {run}"],
            ["I train {per} times a week", "my training is {per} runs a week"],
            ["my {knee} hurts after long runs", "after long runs I have pain in the {knee}", "!my {knee} has never hurt"],
        ],
        "ask": ["How should I plan the last two weeks?", "what should the last two weeks look like", "Can you give me a plan for the final two weeks?"],
        "other": ["What should I eat on the day before?", "Which shoes should I buy?"],
    },
    {
        "slots": {"house": ["1920", "1965", "1998"], "m": ["80", "140"], "heat": ["oil heating", "gas heating", "electric heaters"], "state": ["Ohio", "Bavaria", "Kent"]},
        "facts": [
            ["We own a house in {state} that was built in {house}", "Our house is in {state} and dates from {house}"],
            ["it has {m} square metres and {heat}", "there are {m} square metres, heated by {heat}"],
            ["the windows are new", "we had the windows replaced", "!the windows are very old"],
        ],
        "ask": ["Does a heat pump make sense for us?", "is a heat pump worth it in our case", "Would you install a heat pump here?"],
        "other": ["How do we insulate the roof?", "What does a new boiler cost?"],
    },
    {
        "slots": {"dog": ["beagle", "poodle", "husky"], "mon": ["five", "eighteen"], "kg": ["9", "22"], "food": ["chocolate", "raisins", "an onion"]},
        "facts": [
            ["My {dog} is {mon} months old and weighs {kg} kg", "I have a {mon} month old {dog} of {kg} kg"],
            ["he ate {food} an hour ago", "an hour ago he got hold of {food} and ate it"],
            ["he behaves normally", "he seems fine", "!he keeps throwing up"],
        ],
        "ask": ["Do I have to see a vet now?", "must I take him to the vet right away", "Is it necessary to go to the vet?"],
        "other": ["How do I teach him not to eat things?", "Which food is best for him?"],
    },
]

GREETINGS = ["", "", "", "Hi! ", "Hello, ", "Good morning. ", "Hey, I hope you can help me. "]
ENDS = ["", "", "", " Thanks!", " Thank you in advance.", " Any advice is welcome."]


def long(r, n):
    """About `n` pairs, half of them right."""
    for _ in range(n // 2):
        topic = r.choice(TOPICS)
        slots = {name: r.choice(values) for name, values in topic["slots"].items()}
        order = list(range(len(topic["facts"])))
        if r.random() < 0.4:
            # The first fact names the thing; the others may come in any order.
            order = [0] + r.sample(order[1:], len(order) - 1)
        contrary = {i for i, fact in enumerate(topic["facts"]) if fact[-1].startswith("!") and r.random() < 0.3}
        a = text(r, topic, slots, contrary, range(len(topic["facts"])), topic["ask"])
        yield a, text(r, topic, slots, contrary, order, topic["ask"]), 1, "long"
        change = r.randrange(10)
        if change < 6:
            used = [name for name in slots if "{" + name + "}" in str(topic["facts"]) + str(topic["ask"])]
            name = r.choice(used)
            other = {**slots, name: r.choice([v for v in topic["slots"][name] if v != slots[name]])}
            yield a, text(r, topic, other, contrary, order, topic["ask"]), 0, "long"
        elif change < 8 and any(fact[-1].startswith("!") for fact in topic["facts"]):
            flip = r.choice([i for i, fact in enumerate(topic["facts"]) if fact[-1].startswith("!")])
            yield a, text(r, topic, slots, contrary ^ {flip}, order, topic["ask"]), 0, "long"
        else:
            yield a, text(r, topic, slots, contrary, order, topic["other"]), 0, "long"


def text(r, topic, slots, contrary, order, ask):
    said = []
    for i in order:
        words = [w for w in topic["facts"][i] if w.startswith("!") == (i in contrary)]
        said.append(r.choice(words).lstrip("!").format(**slots))
    ask = r.choice(ask).format(**slots)
    form = r.randrange(4)
    if form == 0:
        body = ". ".join(s[0].upper() + s[1:] for s in said) + ". " + ask[0].upper() + ask[1:]
    elif form == 1:
        body = ", ".join(said[:-1]) + " and " + said[-1] + ". " + ask[0].upper() + ask[1:]
    elif form == 2:
        body = ask.rstrip("?") + "? " + ". ".join(s[0].upper() + s[1:] for s in said) + "."
    else:
        body = ", ".join(said) + ", " + ask[0].lower() + ask[1:]
    return r.choice(GREETINGS) + body + r.choice(ENDS)
