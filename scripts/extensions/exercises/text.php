<?php

// Extensions for text, numbers, XML and formats of data.

declare(strict_types=1);

const CATALOG = '<?xml version="1.0"?><list><item id="%d">one</item><item id="2">two &amp; %d</item></list>';

return [
    'ast' => [
        'what' => 'parse code',
        'run' => static function (int $n, Closure $wait): array {
            $tree = ast\parse_code("<?php echo $n + 1;", 90);
            $wait();
            return [$tree->children[0]->children['expr']->children['left'], ast\get_kind_name($tree->kind)];
        },
    ],
    'bcmath' => [
        'what' => 'scale of a request, powers',
        'run' => static function (int $n, Closure $wait): array {
            bcscale($n);
            $wait();
            return [bcscale(), bcdiv('1', '7'), bcpow('3', (string) (50 + $n)), bcsqrt('2')];
        },
    ],
    'calendar' => [
        'what' => 'Easter, Julian days',
        'run' => static function (int $n, Closure $wait): array {
            $day = gregoriantojd(1, $n, 2024);
            $wait();
            return [easter_days(2000 + $n), jdtojewish($day), cal_days_in_month(CAL_GREGORIAN, $n % 12 + 1, 2024)];
        },
    ],
    'ctype' => [
        'what' => 'classes of characters',
        'run' => static function (int $n, Closure $wait): array {
            $found = ctype_digit((string) $n);
            $wait();
            return [$found, ctype_alpha("a$n"), ctype_xdigit("f$n")];
        },
    ],
    'dom' => [
        'what' => 'documents, XPath with a callback that waits',
        'run' => static function (int $n, Closure $wait): array {
            $document = new DOMDocument();
            $document->loadXML(sprintf(CATALOG, $n, $n));
            $wait();
            $paths = new DOMXPath($document);
            $paths->registerNamespace('php', 'http://php.net/xpath');
            $paths->registerPhpFunctions(['strrev']);
            $nodes = $paths->query("//item[php:functionString('strrev', @id) = '" . strrev((string) $n) . "']");
            $document->documentElement->appendChild($document->createElement('more', "n$n"));
            $wait();
            return [$nodes->length, $document->saveXML()];
        },
    ],
    'ds' => [
        'what' => 'maps, priority queues',
        'run' => static function (int $n, Closure $wait): array {
            $queue = new Ds\PriorityQueue();
            foreach ([1, 3, 2] as $priority) {
                $queue->push("$n $priority", $priority);
                $wait();
            }
            $map = (new Ds\Map(['a' => $n]))->map(static fn($key, $value) => $value * 2);
            return [$queue->toArray(), $map->toArray()];
        },
    ],
    'enchant' => [
        'what' => 'a dictionary',
        'run' => static function (int $n, Closure $wait): array {
            $broker = enchant_broker_init();
            $dictionary = enchant_broker_request_dict($broker, 'en_US');
            $wait();
            enchant_dict_add_to_session($dictionary, "wrd$n");
            $wait();
            return [enchant_dict_check($dictionary, 'hello'), enchant_dict_check($dictionary, "helo$n"),
                enchant_dict_check($dictionary, "wrd$n"), enchant_dict_suggest($dictionary, 'helo')];
        },
    ],
    'gettext' => [
        'what' => 'domains and languages',
        'run' => static function (int $n, Closure $wait): array {
            bindtextdomain('exercise', sys_get_temp_dir());
            $wait();
            return [dgettext('exercise', "message $n"), ngettext('one', 'many', $n), _("text $n")];
        },
    ],
    'gmp' => [
        'what' => 'powers, primes',
        'run' => static function (int $n, Closure $wait): array {
            $power = gmp_pow(3, 200 + $n);
            $wait();
            return [gmp_strval($power), gmp_strval(gmp_nextprime($n * 1000)), gmp_strval($power % 1009)];
        },
    ],
    'iconv' => [
        'what' => 'encodings of a request',
        'run' => static function (int $n, Closure $wait): array {
            $text = iconv('UTF-8', 'ISO-8859-15', "ä€ $n");
            $wait();
            return [bin2hex($text), iconv_strlen("ä$n", 'UTF-8'), iconv_mime_encode('S', "ü $n")];
        },
    ],
    'igbinary' => [
        'what' => 'serialize, with a method that waits',
        'run' => static function (int $n, Closure $wait): array {
            $data = igbinary_serialize(['n' => $n, 'list' => range(1, $n), 'date' => new DateTimeZone('UTC')]);
            $wait();
            return [bin2hex($data), igbinary_unserialize($data)['list']];
        },
    ],
    'intl' => [
        'what' => 'locale of a request, formats, collation, errors',
        'run' => static function (int $n, Closure $wait): array {
            $locales = ['de_AT', 'en_US', 'ja_JP'];
            Locale::setDefault($locales[$n % 3]);
            $wait();
            $words = ['z', 'ä', 'a', "b$n"];
            (new Collator(Locale::getDefault()))->sort($words);
            intl_is_failure(0);
            Normalizer::normalize($n % 2 === 0 ? "\xff" : 'a');
            $wait();
            $format = new NumberFormatter(Locale::getDefault(), NumberFormatter::DECIMAL);
            return [Locale::getDefault(), $words, intl_error_name(intl_get_error_code()), $format->format(12345.5 * $n),
                transliterator_transliterate('Any-Latin; Latin-ASCII', "Москва $n"), grapheme_strlen("e\u{301}$n")];
        },
    ],
    'mailparse' => [
        'what' => 'parse a message in steps',
        'run' => static function (int $n, Closure $wait): array {
            $mail = mailparse_msg_create();
            foreach (["Subject: n $n\r\n", "Content-Type: text/plain; charset=utf-8\r\n", "\r\nbody\r\n"] as $part) {
                mailparse_msg_parse($mail, $part);
                $wait();
            }
            $data = mailparse_msg_get_part_data($mail);
            return [$data['headers'], mailparse_rfc822_parse_addresses("A $n <a$n@example.org>")];
        },
    ],
    'mbstring' => [
        'what' => 'encodings of a request, a search of `mb_ereg_search()` over waits',
        'run' => static function (int $n, Closure $wait): array {
            mb_internal_encoding($n % 2 === 0 ? 'UTF-8' : 'ISO-8859-1');
            mb_substitute_character($n + 33);
            mb_language($n % 2 === 0 ? 'uni' : 'ja');
            $wait();
            $found = [mb_internal_encoding(), mb_strlen('äöü'), mb_convert_encoding("ä\u{2603}", 'ASCII', 'UTF-8'),
                mb_language()];
            mb_regex_encoding('UTF-8');
            mb_ereg_search_init("a{$n}b a{$n}c a{$n}d", "a{$n}(.)");
            while (count($found) < 20 && ($match = mb_ereg_search_regs()) !== false) {
                $found[] = $match[1];
                $wait();
                $found[] = mb_ereg_search_getpos();
            }
            $found[] = mb_ereg_replace_callback('\d', static function (array $match) use ($wait, $n): string {
                $wait();
                return mb_ereg_replace('x', (string) $n, 'x' . $match[0]);
            }, 'a1b2');
            return $found;
        },
    ],
    'msgpack' => [
        'what' => 'pack and unpack',
        'run' => static function (int $n, Closure $wait): array {
            $data = msgpack_pack(['n' => $n, 'list' => [1.5, null]]);
            $wait();
            $unpacker = new MessagePackUnpacker();
            $unpacker->feed(substr($data, 0, 3));
            $wait();
            $unpacker->feed(substr($data, 3));
            return [bin2hex($data), $unpacker->execute(), $unpacker->data()];
        },
    ],
    'psr' => [
        'what' => 'interfaces',
        'run' => static function (int $n, Closure $wait): array {
            $logger = new class extends Psr\Log\AbstractLogger {
                public array $lines = [];

                public function log($level, $message, array $context = []): void
                {
                    $this->lines[] = "$level $message";
                }
            };
            $logger->info("n $n");
            $wait();
            return $logger->lines;
        },
    ],
    'pspell' => [
        'what' => 'a dictionary',
        'run' => static function (int $n, Closure $wait): array {
            $dictionary = pspell_new('en');
            $wait();
            pspell_add_to_session($dictionary, 'word' . str_repeat('x', $n));
            $wait();
            return [pspell_check($dictionary, 'hello'), pspell_check($dictionary, 'word' . str_repeat('x', $n)),
                pspell_check($dictionary, 'word' . str_repeat('y', $n)), pspell_suggest($dictionary, 'helo')[0]];
        },
    ],
    'simplexml' => [
        'what' => 'parse, change, write',
        'run' => static function (int $n, Closure $wait): array {
            $list = simplexml_load_string(sprintf(CATALOG, $n, $n));
            $wait();
            $list->addChild('more', "n$n");
            $wait();
            return [(string) $list->item[0]['id'], $list->asXML()];
        },
    ],
    'tidy' => [
        'what' => 'repair HTML, diagnose',
        'run' => static function (int $n, Closure $wait): array {
            $tidy = new tidy();
            $tidy->parseString("<p>n $n<br></i>", ['output-xhtml' => $n % 2 === 0, 'tidy-mark' => false], 'utf8');
            $wait();
            $tidy->cleanRepair();
            $wait();
            return [(string) $tidy, $tidy->errorBuffer, tidy_warning_count($tidy)];
        },
    ],
    'tokenizer' => [
        'what' => 'tokens of code',
        'run' => static function (int $n, Closure $wait): array {
            $tokens = PhpToken::tokenize("<?php echo $n;");
            $wait();
            return [count($tokens), (string) $tokens[3], token_name(token_get_all('<?php 1;')[0][0])];
        },
    ],
    'wikidiff2' => [
        'what' => 'compare texts',
        'run' => static function (int $n, Closure $wait): array {
            $changes = wikidiff2_inline_diff("one\ntwo\n", "one\ntwo $n\n", 2);
            $wait();
            return [$changes, wikidiff2_version()];
        },
    ],
    'xml' => [
        'what' => 'a parser with handlers that wait',
        'run' => static function (int $n, Closure $wait): array {
            $found = [];
            $parser = xml_parser_create('UTF-8');
            xml_set_element_handler(
                $parser,
                static function ($parser, string $name, array $attributes) use (&$found, $wait): void {
                    $wait();
                    $found[] = [$name, $attributes, xml_get_current_byte_index($parser) > 0];
                },
                static function (): void {
                },
            );
            xml_set_character_data_handler($parser, static function ($parser, string $text) use (&$found): void {
                $found[] = $text;
            });
            $text = sprintf(CATALOG, $n, $n);
            xml_parse($parser, substr($text, 0, 40));
            $wait();
            xml_parse($parser, substr($text, 40), true);
            return $found;
        },
    ],
    'xmlreader' => [
        'what' => 'read step by step',
        'run' => static function (int $n, Closure $wait): array {
            $reader = XMLReader::XML(sprintf(CATALOG, $n, $n));
            $found = [];
            while ($reader->read()) {
                $wait();
                $found[] = [$reader->name, $reader->value, $reader->getAttribute('id')];
            }
            return $found;
        },
    ],
    'xmlrpc' => [
        'what' => 'encode, decode, a server with methods that wait',
        'run' => static function (int $n, Closure $wait): array {
            $request = xmlrpc_encode_request('add', [$n, 1]);
            $wait();
            $server = xmlrpc_server_create();
            xmlrpc_server_register_method($server, 'add', static function ($name, array $arguments) use ($wait): int {
                $wait();
                return array_sum($arguments);
            });
            return [xmlrpc_decode(xmlrpc_server_call_method($server, $request, null))];
        },
    ],
    'xmlwriter' => [
        'what' => 'write step by step',
        'run' => static function (int $n, Closure $wait): array {
            $writer = new XMLWriter();
            $writer->openMemory();
            $writer->startElement('list');
            foreach (range(1, 3) as $step) {
                $writer->writeElement('item', "$n $step");
                $wait();
            }
            $writer->endElement();
            return [$writer->outputMemory()];
        },
    ],
    'xsl' => [
        'what' => 'transform, with a PHP function that waits',
        'run' => static function (int $n, Closure $wait): array {
            $style = new DOMDocument();
            $style->loadXML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
                . 'xmlns:php="http://php.net/xsl"><xsl:param name="n"/><xsl:template match="/"><out>'
                . '<xsl:value-of select="$n"/><xsl:for-each select="//item">'
                . '<xsl:value-of select="php:functionString(\'usleep\', 1000)"/><xsl:value-of select="@id"/>'
                . '</xsl:for-each></out></xsl:template></xsl:stylesheet>');
            $processor = new XSLTProcessor();
            $processor->importStylesheet($style);
            $processor->registerPHPFunctions(['usleep']);
            $processor->setParameter('', 'n', "$n");
            $wait();
            $document = new DOMDocument();
            $document->loadXML(sprintf(CATALOG, $n, $n));
            return [$processor->transformToXml($document)];
        },
    ],
    'yaml' => [
        'what' => 'parse with a callback that waits, emit',
        'run' => static function (int $n, Closure $wait): array {
            $count = 0;
            $data = yaml_parse("a: $n\nb: !twice $n\n", 0, $count, ['!twice' => static function ($value) use ($wait) {
                $wait();
                return 2 * $value;
            }]);
            $wait();
            return [$data, yaml_emit(['n' => $n, 'list' => [1, 2]])];
        },
    ],
];
