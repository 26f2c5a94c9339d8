<?php

declare(strict_types=1);

namespace App;

use Symfony\Bundle\FrameworkBundle\Controller\AbstractController;
use Symfony\Component\HttpFoundation\Response;

final class CatalogueController extends AbstractController
{
    public function home(): Response
    {
        return $this->redirectToRoute('department', ['department' => 'garden']);
    }

    public function department(Catalogue $catalogue, string $department): Response
    {
        return $this->render('department.html.twig', [
            'department' => $department,
            'items' => $catalogue->items($department),
        ]);
    }
}
