<?php

declare(strict_types=1);

namespace Caravan\Model;

/**
 * The initial entries of the journal.
 */
final class Seed
{
    /** The demo's account, shown on the login page. */
    public const NAME = 'mahout';
    public const PASSWORD = 'howdah';

    public static function plant(Store $store): void
    {
        $author = $store->run(
            'INSERT INTO users (name, shown_name, password_hash) VALUES (?, ?, ?)',
            self::NAME,
            'Asha the mahout',
            Accounts::hash(self::PASSWORD),
        );
        foreach (self::entries() as $number => [$title, $place, $body, $comments]) {
            // One entry every four days, from 1 March 2026, 06:30 UTC.
            $time = 1_772_346_600 + $number * 4 * 86_400;
            $id = $store->run(
                'INSERT INTO entries (author_id, title, place, body, created_at) VALUES (?, ?, ?, ?, ?)',
                $author,
                $title,
                $place,
                // The lines below are broken for the reader of this file, not for the reader of the journal.
                (string) preg_replace('/(?<!\n)\n(?!\n)/', ' ', $body),
                $time,
            );
            foreach ($comments as $i => [$name, $text]) {
                $store->run(
                    'INSERT INTO comments (entry_id, author, body, created_at) VALUES (?, ?, ?, ?)',
                    $id,
                    $name,
                    $text,
                    $time + ($i + 1) * 7_000,
                );
            }
        }
    }

    /**
     * @return list<array{string, string, string, list<array{string, string}>}>
     */
    private static function entries(): array
    {
        return [
            ['Padma is measured for her howdah', 'Jaipur', <<<'TEXT'
                The saddler walked around Padma three times with a knotted rope and would not say a number
                aloud, so as not to hurt her feelings. Then he built the frame out of mango wood, light enough
                for two men to lift and wide enough for seven riders who like each other.

                One elephant, seven seats. Nobody has to wait for an elephant of their own to grow up. That,
                said the saddler, is the whole trade.
                TEXT, [
                ['Ravi', 'Seven riders who like each other is the hard part.'],
            ]],
            ['What a caravan packs', 'Jaipur, the yard', <<<'TEXT'
                Packed once, before the first sunrise, and never again on the way: rope, tea, lamp oil, the good
                kettle, the map with the hole in it. In the morning we only climb up and go.

                The neighbours pack and unpack the whole house for every trip to the market. We wave to them
                from above. By the time they have found their kettle we are home again.
                TEXT, [
                ['Mira', 'So the secret is to stay packed?'],
                ['Asha the mahout', 'To stay packed, and to sweep the seat between two riders.'],
            ]],
            ['The stepwell at noon', 'Abhaneri', <<<'TEXT'
                Three and a half thousand steps, thirteen storeys down, and a square of green water at the
                bottom. People came from every side at once and nobody met on the stairs; whoever dug this knew
                all about queues.

                Padma stayed at the top and drank the horse trough dry.
                TEXT, []],
            ['Salt flats by moonlight', 'Rann of Kutch', <<<'TEXT'
                At night the ground is brighter than the sky. We rode for two hours without a tree, a stone or a
                sound, and it was hard to say whether we moved at all, until the lights of Dhordo came up from
                behind the edge of the world like a row of small ships.

                Old Harun told the story of the cook who salted the soup here. It is a short story.
                TEXT, [
                ['Leela', 'Please write the story of the cook down as well.'],
            ]],
            ['A market in the rain', 'Ahmedabad', <<<'TEXT'
                It began to pour in the middle of the indigo sellers. Within a minute forty people stood under
                Padma, who has never before been a roof and took to it with dignity. Blue water ran around her
                feet. Business went on: three scarves and a parrot cage were sold between her front legs.
                TEXT, []],
            ['The ferry that was too small', 'Narmada crossing', <<<'TEXT'
                The ferryman looked at Padma, at his boat, and at Padma again. "Not in one piece," he said.

                So the riders crossed by boat, in three parts, each one shouting its number when it arrived; and
                Padma crossed by herself, with only the top of her trunk above the water. She was there first.
                TEXT, [
                ['Tomas', 'Streaming, in other words.'],
                ['Ravi', 'How long did you wait for the third part?'],
                ['Asha the mahout', 'We did not. The tea was ready when it came.'],
            ]],
            ['Harun falls off, nobody stops', 'Mandu', <<<'TEXT'
                A branch took Harun right out of his seat this morning. He sat in the grass, whole but offended.
                The others went on talking; only his own sentence had been lost.

                He took the next seat that came by, and told the sentence again from its beginning. A good
                howdah is built so: one rider falls, six arrive.
                TEXT, [
                ['Harun', 'I was not offended.'],
            ]],
            ['Night watch at the caves', 'Ajanta', <<<'TEXT'
                The painted elephants on the wall of cave seventeen are sixteen hundred years old, and the one
                in front carries her howdah exactly as Padma does: girth behind the forelegs, breast strap
                loose, one finger of air on both sides.

                We held the lamp for a long time. Padma was told about it at supper.
                TEXT, []],
            ['Slow tea', 'Satpura hills', <<<'TEXT'
                Mira wanted her tea the slow way, with cardamom, three full minutes on the fire. The rest of us
                would have waited, being polite; but in a howdah each has a cup, and hers being empty is no
                reason for ours to be. We drank, rode, saw two kingfishers, and then there was cardamom.
                TEXT, [
                ['Mira', 'It was worth every second of it.'],
            ]],
            ['The bridge of Ellora', 'Ellora', <<<'TEXT'
                There is a temple here that was not built but found: they dug the mountain away until only the
                temple was left. Around its foot stand stone elephants, shoulder to shoulder, carrying all of
                it. They have carried it for twelve hundred years and look as if they could do a little more.
                TEXT, []],
            ['New harness, same ride', 'Aurangabad', <<<'TEXT'
                The old girth had begun to fray. The saddler here laid the new one on beside it, buckled it,
                pulled at it with his whole weight, and only then opened the old one. Nobody had to get off.
                Leela slept through it.
                TEXT, [
                ['Leela', 'Through what?'],
            ]],
            ['Seven riders reach the sea', 'Mumbai', <<<'TEXT'
                Forty-four days, one elephant, nobody left behind. Padma walked into the water up to her knees,
                took a trunkful, thought about it, and gave it back to Harun.

                Tomorrow we turn around. The seat is swept, the kettle is where it always is, and there is room
                for whoever wants to ride along: write your name below.
                TEXT, [
                ['Mira', 'Same seat for me, please.'],
                ['Harun', 'Salt again.'],
                ['Tomas', 'I would like the place by the window.'],
            ]],
        ];
    }
}
